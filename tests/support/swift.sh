# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# OpenStack Swift with its S3 door, on loopback: a real distributed object store of one device. To be
# sourced after lib.sh, whose `_leave` ends the servers.

# The users' names and secrets, in Swift's words ACCOUNT:USER.
SWIFT_KEY=test:tester
SWIFT_SECRET=testing
# One who may log in, but is no member of the account's group: everything is denied to them.
SWIFT_OTHER_KEY=test:stranger
SWIFT_OTHER_SECRET=stranger

# The least that a part of an upload but the last may have; as everywhere else, if nothing is said.
SWIFT_PART_MIN=${SWIFT_PART_MIN:-5242880}

# swift_is_here: whether all servers are installed; says what is missing otherwise.
swift_is_here()
{
	local program
	for program in swift-{proxy,account,container,object}-server memcached curl; do
		command -v "$program" >/dev/null && continue
		echo "$program is not installed"
		return 1
	done
}

# _swift_rings DIR: writes the rings, and prints the five ports: proxy, account, container, object,
# memcached. One process for all, since each start costs half a second.
_swift_rings()
{
	"$PYTHON" - "$1" <<-'END'
		import socket
		import sys

		from swift.common.ring import RingBuilder

		# All sockets are open until all have their ports: so no port is given twice.
		sockets = [socket.socket() for _ in range(5)]
		for s in sockets:
		    s.bind(("127.0.0.1", 0))
		ports = [s.getsockname()[1] for s in sockets]
		for kind, port in zip(("account", "container", "object"), ports[1:4]):
		    builder = RingBuilder(4, 1, 0)
		    builder.add_dev({
		        "id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "disk", "meta": "",
		        "ip": "127.0.0.1", "port": port,
		        "replication_ip": "127.0.0.1", "replication_port": port,
		    })
		    builder.rebalance(seed=1)
		    builder.get_ring().save(f"{sys.argv[1]}/{kind}.ring.gz")
		print(*ports)
	END
}

# _swift_defaults DIR PORT: what all servers' configurations begin with. No workers: each server is
# one process, which ends by its pid.
_swift_defaults()
{
	cat <<-END
		[DEFAULT]
		bind_ip = 127.0.0.1
		bind_port = $2
		workers = 0
		user = $(id -un)
		swift_dir = $1
		devices = $1/devices
		mount_check = false
		disable_fallocate = true
		fallocate_reserve = 0
		recon_cache_path = $1
		log_level = WARNING
		node_timeout = 60
		conn_timeout = 10
		client_timeout = 60
	END
}

# _swift_storage DIR PORT KIND: configuration of a storage server.
_swift_storage()
{
	_swift_defaults "$1" "$2"
	cat <<-END
		[pipeline:main]
		pipeline = $3-server
		[app:$3-server]
		use = egg:swift#$3
		node_timeout = 60
		conn_timeout = 10
	END
}

# _swift_proxy DIR PORT MEMCACHED-PORT: configuration of the proxy, which has the S3 door. Buckets
# are also hosts below localhost, for addressing in the virtual style. Parts may be small, so that
# small objects have several.
_swift_proxy()
{
	_swift_defaults "$1" "$2"
	cat <<-END
		[pipeline:main]
		pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth slo proxy-server
		[app:proxy-server]
		use = egg:swift#proxy
		account_autocreate = true
		node_timeout = 60
		conn_timeout = 10
		[filter:catch_errors]
		use = egg:swift#catch_errors
		[filter:gatekeeper]
		use = egg:swift#gatekeeper
		[filter:healthcheck]
		use = egg:swift#healthcheck
		[filter:cache]
		use = egg:swift#memcache
		memcache_servers = 127.0.0.1:$3
		[filter:listing_formats]
		use = egg:swift#listing_formats
		[filter:s3api]
		use = egg:swift#s3api
		storage_domain = localhost
		min_segment_size = $SWIFT_PART_MIN
		[filter:tempauth]
		use = egg:swift#tempauth
		user_${SWIFT_KEY/:/_} = $SWIFT_SECRET .admin
		user_${SWIFT_OTHER_KEY/:/_} = $SWIFT_OTHER_SECRET
		[filter:slo]
		use = egg:swift#slo
		rate_limit_under_size = 0
	END
}

# start_swift DIR: starts all servers, with their files below DIR. Sets and exports S3_ENDPOINT,
# AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The logs are DIR/*.log.
start_swift()
{
	local dir=$1 kind i
	local -a ports=() pids=()
	mkdir -p "$dir/devices/disk"
	dir=$(cd "$dir" && pwd -P)
	read -ra ports <<<"$(_swift_rings "$dir" 2>"$dir/rings.log")"
	if [ "${#ports[@]}" -ne 5 ]; then
		not_ok "set-up: Swift's rings are made" "$dir/rings.log"
		exit 1
	fi
	printf '[swift-hash]\nswift_hash_path_suffix = brevis\n' >"$dir/swift.conf"
	_swift_proxy "$dir" "${ports[0]}" "${ports[4]}" >"$dir/proxy.conf"
	memcached -l 127.0.0.1 -p "${ports[4]}" -U 0 -m 16 -u "$(id -un)" >"$dir/memcached.log" 2>&1 &
	_pids+=($!)
	SWIFT_DIR=$dir
	i=0
	for kind in proxy account container object; do
		[ "$kind" = proxy ] || _swift_storage "$dir" "${ports[i]}" "$kind" >"$dir/$kind.conf"
		_swift_run "$kind"
		pids+=("$_swift_pid")
		i=$((i + 1))
	done
	SWIFT_PROXY_PORT=${ports[0]} SWIFT_PROXY_PID=${pids[0]}
	i=0
	for kind in proxy account container object; do
		_swift_answers "${ports[i]}" "${pids[i]}" "$dir/$kind.log"
		i=$((i + 1))
	done
	export S3_ENDPOINT=http://127.0.0.1:${ports[0]}
	export AWS_ACCESS_KEY_ID=$SWIFT_KEY AWS_SECRET_ACCESS_KEY=$SWIFT_SECRET
	_swift_log_in
	note "Swift answers at $S3_ENDPOINT"
}

# _swift_run KIND: starts a server by its configuration. Sets _swift_pid.
_swift_run()
{
	"$PYTHON" "$(command -v "swift-$1-server")" "$SWIFT_DIR/$1.conf" -v >>"$SWIFT_DIR/$1.log" 2>&1 &
	_swift_pid=$!
	_pids+=("$_swift_pid")
}

# swift_kill_door: the S3 door is gone in the middle of what it does.
swift_kill_door()
{
	kill -KILL "$SWIFT_PROXY_PID"
	wait "$SWIFT_PROXY_PID" 2>/dev/null
}

# swift_open_door: it is there again, at the same port. _leave would kill a pid that is gone: that
# of the killed server is forgotten.
swift_open_door()
{
	forget_process "$SWIFT_PROXY_PID"
	_swift_run proxy
	SWIFT_PROXY_PID=$_swift_pid
	_swift_answers "$SWIFT_PROXY_PORT" "$SWIFT_PROXY_PID" "$SWIFT_DIR/proxy.log"
}

# _swift_answers PORT PID LOG: waits until a server answers.
_swift_answers()
{
	local tries
	for tries in $(seq 600); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		kill -0 "$2" 2>/dev/null || break
		sleep 0.1
	done
	not_ok "set-up: a server of Swift starts (try $tries)" "$3"
	exit 1
}

# _swift_log_in: a token for Swift's own door; all requests there have it in SWIFT_TOKEN.
_swift_log_in()
{
	SWIFT_TOKEN=$(curl -sS --retry 5 --retry-connrefused -D - -o /dev/null \
		-H "X-Storage-User: $SWIFT_KEY" -H "X-Storage-Pass: $SWIFT_SECRET" \
		"$S3_ENDPOINT/auth/v1.0" | tr -d '\r' | sed -n 's/^X-Auth-Token: //Ip')
	if [ -z "$SWIFT_TOKEN" ]; then
		not_ok "set-up: Swift lets us in" "$SWIFT_DIR/proxy.log"
		exit 1
	fi
}

# swift_call METHOD PATH [CURL-OPTION...]: a request by Swift's own door, as a client that is not ours:
# PATH is BUCKET, BUCKET/KEY, with a query perhaps. Fails as the server does.
swift_call()
{
	local method=$1 path=$2
	shift 2
	curl -sSf -X "$method" -H "X-Auth-Token: $SWIFT_TOKEN" "$@" \
		"$S3_ENDPOINT/v1/AUTH_${SWIFT_KEY%%:*}/$path"
}

# swift_bucket NAME: makes a bucket.
swift_bucket()
{
	must swift_call PUT "$1" -H 'Content-Length: 0'
}

# swift_keys BUCKET: the objects' keys, one a line.
swift_keys()
{
	swift_call GET "$1?format=plain"
}

# swift_get BUCKET KEY FILE
swift_get()
{
	swift_call GET "$1/$2" -o "$3"
}

# swift_put BUCKET KEY FILE: replaces an object behind the store's back.
swift_put()
{
	swift_call PUT "$1/$2" -T "$3"
}
