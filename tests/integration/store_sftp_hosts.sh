#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# SSH hosts are known, and know us, in the ways that people have set ssh up for; store paths may
# have any character.
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"
# shellcheck source=../support/stores.sh
. "$TOP/tests/support/stores.sh"

must git lfs install
use_store sftp
HOSTS=$SFTP_DIR/known_hosts
HOST_KEY=$(cut -d' ' -f1,2 "$SFTP_DIR/host.pub")
must ssh-keygen -qt rsa -N '' -C '' -f "$T/other"
OTHER_KEY=$(cut -d' ' -f1,2 "$T/other.pub")
new_repo "$T/work"
must in_dir "$T/work" git brevis store init "$STORE_URL"

# comes_in CODE DESCRIPTION: what a visit to the store ends with.
comes_in()
{
	run in_dir "$T/work" git brevis store ls
	exits "$1" "$2"
}

# ---- known hosts --------------------------------------------------------------------------------

# The server has a second kind of key, which nobody knows.
end_process "$SFTP_PID"
must ssh-keygen -qt ecdsa -N '' -C '' -f "$SFTP_DIR/second"
echo "HostKey $SFTP_DIR/second" >>"$SFTP_DIR/config"
run_sshd
comes_in 0 'a server that also has a key that is not known'

printf '%s\n' "other.example $OTHER_KEY" "[127.0.0.1]:$SFTP_PORT $HOST_KEY" >"$HOSTS"
must ssh-keygen -qHf "$HOSTS"
comes_in 0 'hidden names, the first of another host with another kind of key'
echo "127.0.0.1 $HOST_KEY" >"$HOSTS"
comes_in 0 'a name without a port'
printf '%s\n' "127.0.0.1 $OTHER_KEY" "[127.0.0.*]:$SFTP_PORT $HOST_KEY" >"$HOSTS"
comes_in 0 'a pattern with the port, beside another key without'
printf '%s\n' "[127.0.0.1]:$SFTP_PORT $HOST_KEY" "@revoked * $HOST_KEY" >"$HOSTS"
comes_in 128 'a key that was revoked'
contains 'and it is said so' "$T/err" 'is revoked'
echo "[127.0.0.1]:$SFTP_PORT $OTHER_KEY" >"$HOSTS"
comes_in 128 'only a key of a kind that libssh2 cannot use'
contains 'and it is said which are needed' "$T/err" 'ssh-keyscan -t ed25519,ecdsa'
echo "[127.0.0.1]:$SFTP_PORT ${HOST_KEY%??}AA" >"$HOSTS"
comes_in 128 'a key that has changed'
contains 'and it is said so' "$T/err" 'CHANGED'
echo "[127.0.0.1]:$SFTP_PORT $HOST_KEY" >"$HOSTS"

# ---- our keys -----------------------------------------------------------------------------------

must git config --global --unset brevis.sftp.key
comes_in 128 'no key at all'
mkdir -p "$HOME/.ssh"
make_key "$HOME/.ssh/id_ed25519"
must cp "$SFTP_DIR/client" "$HOME/.ssh/id_ecdsa"
comes_in 0 'the second of the usual key files'
must ssh-keygen -qpf "$HOME/.ssh/id_ecdsa" -N secret -P ''
comes_in 128 'it has a passphrase'
contains 'and it is said so' "$T/err" 'id_ecdsa: has a passphrase'

ssh-agent -D -a "$T/agent" >/dev/null 2>&1 &
_pids+=($!)
export SSH_AUTH_SOCK=$T/agent
until [ -S "$T/agent" ]; do sleep 0.01; done
comes_in 128 'an agent without keys'
must ssh-add -q "$SFTP_DIR/client"
comes_in 0 'an agent that has the key'
must git config --global brevis.sftp.key "$T/other"
comes_in 0 'an agent, after a key that was chosen'
unset SSH_AUTH_SOCK
must git config --global brevis.sftp.key "$SFTP_DIR/client"

# ---- paths --------------------------------------------------------------------------------------

ODD="of o'ne \"two\" \\ %41~"
run in_dir "$T/work" git brevis store init --force \
	"sftp://$SFTP_USER@127.0.0.1:$SFTP_PORT$T/of%20o'ne%20%22two%22%20%5C%20%2541~/store"
exits 0 'a path with blanks and quotes'
check 'is the one on the server' test -f "$T/$ODD/store/brevis-store.json"
head -c 100000 /dev/urandom >"$T/work/a.bin"
in_dir "$T/work" must git lfs track '*.bin'
commit_all "$T/work" 'a file'
new_remote "$T/remote.git"
must git -C "$T/work" remote add origin "$T/remote.git"
check 'push' git -C "$T/work" push -q origin HEAD:main
check 'clone' git clone -q -b main "$T/remote.git" "$T/clone"
same_bytes 'has every byte' "$T/work/a.bin" "$T/clone/a.bin"
done_testing
