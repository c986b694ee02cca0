/** The first process in the namespaces of a cluster with real nodes, as a shell script. */

/**
 * It hides what kubelets and containers write from the machine, and then runs its arguments. When they end, it ends, and with it every
 * process in the namespaces. The first argument is a folder for what is hidden.
 */
export const initScript = `set -eu
private=$1
shift
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$private" /run/netns
mount -t tmpfs -o mode=755 tmpfs "$private"
mkdir "$private/upper" "$private/work" "$private/settings"
mount -t overlay -o "lowerdir=/var,upperdir=$private/upper,workdir=$private/work" overlay /var
# A kubelet sets these for the whole machine.
for setting in vm/overcommit_memory kernel/panic kernel/panic_on_oops; do
  file=$private/settings/\${setting##*/}
  cat "/proc/sys/$setting" > "$file"
  mount --bind "$file" "/proc/sys/$setting"
done
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
"$@" &
wait $!
`;
