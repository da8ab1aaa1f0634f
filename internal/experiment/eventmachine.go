package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// underTest is the word for the machine that is measured, if headroom has created it.
const underTest = "under-test"

// migrateScript creates a migration, from an object and a namespace, and waits for its end.
const migrateScript = `migration=$(printf '%s' "$1" | kubectl create -n "$2" -o name -f -) || exit 1
while :; do
	phase=$(kubectl get -n "$2" "$migration" -o 'jsonpath={.status.phase}') || exit 1
	case $phase in
	Succeeded) exit 0 ;;
	Failed)
		kubectl get -n "$2" "$migration" -o 'jsonpath={.status.migrationState.failureReason}' >&2
		exit 1
		;;
	esac
	sleep 1
done`

// vmMigrate makes KubeVirt move a machine to another node, like virtctl migrate. Source: KubeVirt's API reference,
// VirtualMachineInstanceMigration.
func vmMigrate(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	namespace, name, ok := strings.Cut(words[0], "/")
	if words[0] == underTest {
		namespace, name, ok = w.Namespace, w.Machine, w.Machine != ""
	}
	if !ok || namespace == "" || name == "" {
		return EventPlan{}, refused("kubectl get vmi -A lists the machines: vm-migrate NAMESPACE/NAME",
			"%q names no machine of KubeVirt; under-test is one that is measured as kube:vm?…", words[0])
	}
	const condition = `{.status.phase} {.status.conditions[?(@.type=="LiveMigratable")].status} {.status.conditions[?(@.type=="LiveMigratable")].message}`
	text, there, err := output(ctx, w.Target, "kubectl", "get", "vmi", "-n", namespace, name, "-o",
		"jsonpath="+condition)
	if err != nil {
		return EventPlan{}, err
	}
	phase, rest, _ := strings.Cut(text, " ")
	can, why, _ := strings.Cut(rest, " ")
	switch {
	case !there || phase != "Running":
		return EventPlan{}, refused(
			"--event-on local, where kubectl reaches the cluster; kubectl get vmi -n "+namespace+" lists its machines",
			"no machine %s of namespace %s runs that could be moved", name, namespace)
	case can == "False":
		return EventPlan{}, refused("a machine is moved whose disks can be seen by two nodes (ReadWriteMany), or are in "+
			"no volume", "KubeVirt can't move the machine %s: %s", name, strings.TrimSpace(why))
	}
	object, err := json.Marshal(map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
		"metadata": map[string]any{"generateName": "headroom-",
			"labels": map[string]string{"app.kubernetes.io/managed-by": "headroom"}},
		"spec": map[string]string{"vmiName": name},
	})
	if err != nil {
		return EventPlan{}, &lab.Error{What: fmt.Sprintf("can't write the migration of %s", name), Err: err}
	}
	return EventPlan{Command: []string{"sh", "-c", migrateScript, "headroom", string(object), namespace}}, nil
}
