#!/usr/bin/env bash
# Runs a program of MPI on hosts that are network namespaces of this machine, joined by a bridge, whose lines are limited to a rate:
#
#     hosts.sh HOSTS RATE COMMAND...        hosts.sh 4 1gbit target/release/examples/exchange 1048576 9
#
# Needs root, iproute2 and Open MPI; rate is one of tc's, or `none`. CUT_AFTER=SECONDS cuts the line of the last host meanwhile. A program that
# takes longer than LIMIT seconds (240) is killed. What it makes it takes away again.
set -uo pipefail
hosts=$1 rate=$2
shift 2
name=bn$$
agent=$(mktemp)

ended() {
    for host in $(seq 1 "$hosts"); do
        ip netns pids "$name-$host" | while read -r pid; do kill -9 "$pid"; done
        ip link del "$name-$host"
        ip netns del "$name-$host"
    done
    ip link del "$name"
    rm -f "$agent"
}
trap ended EXIT

ip link add "$name" type bridge && ip link set "$name" up || exit
list=
for host in $(seq 1 "$hosts"); do
    space=$name-$host line=$name-$host
    ip netns add "$space"
    ip link add "$line" type veth peer name eth0 netns "$space"
    ip link set "$line" master "$name" up
    ip -n "$space" addr add "10.99.7.$host/24" dev eth0
    ip -n "$space" link set eth0 up
    ip -n "$space" link set lo up
    if [ "$rate" != none ]; then
        # Either end limits what it sends.
        tc qdisc add dev "$line" root tbf rate "$rate" burst 256k latency 50ms
        tc -n "$space" qdisc add dev eth0 root tbf rate "$rate" burst 256k latency 50ms
    fi
    list=$list,10.99.7.$host
done

# In the place of ssh: the last number of an address names the namespace.
cat >"$agent" <<AGENT
#!/bin/sh
host=\$1; shift
exec ip netns exec $name-\${host##*.} sh -c "\$*"
AGENT
chmod +x "$agent"

if [ -n "${CUT_AFTER:-}" ]; then
    (sleep "$CUT_AFTER" && echo "the line of rank $((hosts - 1)) is cut" && ip link set "$name-$hosts" down) &
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Without `--bind-to none` every host's first rank is bound to core 0, which here is the same core.
timeout --kill-after=5 "${LIMIT:-240}" ip netns exec "$name-1" mpirun -n "$hosts" --host "${list#,}" --oversubscribe --bind-to none \
    --mca plm_rsh_agent "$agent" --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include 10.99.7.0/24 \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.99.7.0/24 "$@"
code=$?
[ "$code" = 0 ] || echo "mpirun ended with $code"
exit "$code"
