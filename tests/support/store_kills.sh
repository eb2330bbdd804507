# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Transfers are stopped at seeded random points (store_kills.py), and what is left of them is looked
# at. Sourced after stores.sh.

# Files are small, and shall have parts.
PART_SIZE=262144

# start_kills KIND POINTS PUSHES: begins with a store of that kind; its verdicts go to a file of
# which end_kills tells.
start_kills()
{
	local kind=$1 points=$2 work=$T/kills-$1/work url proxy more=()
	mkdir "$T/kills-$kind"
	if [ -n "$OWN_MOUNTS" ]; then
		small_disk "$T/kills-$kind" 64
		more+=(--work-disk "$T/kills-$kind")
	fi
	# Swift needs more room than that to start.
	if [ -n "$OWN_MOUNTS" ] && [ "$kind" != s3 ]; then
		small_disk "$T/$kind" 80
		more+=(--store-disk "$T/$kind")
	fi
	use_store "$kind"
	new_remote "$work.git"
	must git init -q "$work"
	must git -C "$work" remote add origin "$work.git"
	in_dir "$work" must git lfs install --local
	in_dir "$work" must git lfs track '*.bin'
	in_dir "$work" must git brevis store init "$STORE_URL"
	commit_all "$work" 'a store'
	must git -C "$work" push -q origin HEAD
	must git -C "$work" config brevis.store.partSize "$PART_SIZE"
	must git -C "$work" config lfs.transfer.maxretries 2
	url=$STORE_URL
	case $kind in
	directory) more+=(--files "$STORE_DIR") ;;
	sftp)
		proxy=$(free_port)
		sed "s/$SFTP_PORT/$proxy/" "$SFTP_DIR/known_hosts" >>"$SFTP_DIR/known_hosts.new"
		cat "$SFTP_DIR/known_hosts.new" >>"$SFTP_DIR/known_hosts"
		url=${STORE_URL/$SFTP_PORT/$proxy}
		more+=(--files "$STORE_DIR" --proxy "$proxy:$SFTP_PORT" --server "$SFTP_PID")
		;;
	dav)
		proxy=$(free_port)
		must git config --global "credential.http://127.0.0.1:$proxy.helper" "$DAV_DIR/helper"
		url=${STORE_URL/$DAV_PORT/$proxy}
		more+=(--files "$STORE_DIR" --proxy "$proxy:$DAV_PORT" --server "$DAV_PID")
		;;
	s3)
		proxy=$(free_port)
		url=${STORE_URL/$SWIFT_PROXY_PORT/$proxy}
		more+=(--files swift --proxy "$proxy:$SWIFT_PROXY_PORT")
		export SWIFT_TOKEN SWIFT_URL=$S3_ENDPOINT/v1/AUTH_${SWIFT_KEY%%:*}/$STORE_BUCKET/team
		;;
	esac
	must git -C "$work" config lfs.url "brevis::$url"
	PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$TOP/tests/support/store_kills.py" --url "$url" \
		--work "$work" --objects "$T/objects-$kind" --seed "$SEED" \
		--points "$points" --pushes "$3" "${more[@]}" >"$T/kills-$kind.log" 2>&1 &
	_pids+=($!)
	eval "_kills_$kind=$!"
}

# end_kills KIND POINTS: waits for it. Its verdicts become this test's own.
end_kills()
{
	local pid=_kills_$1 verdict rest code=0
	wait "${!pid}" || code=$?
	forget_process "${!pid}"
	while read -r verdict rest; do
		case $verdict in
		ok) ok "$1 ${rest#- }" ;;
		not) not_ok "$1 ${rest#ok - }" ;;
		*) echo "$verdict $rest" ;;
		esac
	done <"$T/kills-$1.log"
	is "$1: all came to their end" "$code" 0
	is "$1: at every point" "$(grep -cE '^(not )?ok - [1-9]' "$T/kills-$1.log")" "$2"
	# The network has ended: by the way that .lfsconfig says.
	must git -C "$T/kills-$1/work" config --unset lfs.url
	run in_dir "$T/kills-$1/work" git brevis store verify
	exits 0 "$1: every object of the store is good"
	# Of lfs/tmp git-lfs itself takes care.
	is "$1: nothing is left here of what came or was sent" \
		"$(find "$T/kills-$1/work/.git/lfs/brevis" -type f -size +64k)" ''
}
