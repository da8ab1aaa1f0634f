//go:build system && kube

package kubetest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// The node runs pods, has volumes of two StorageClasses, and one of them is slow.
func TestClusterHasFastAndSlowVolumes(t *testing.T) {
	cluster := kubetest.Start(t)
	mean := map[string]time.Duration{}
	for _, class := range []string{"fast", "slow"} {
		cluster.Claim(t, "volume-of-"+class, class, "Block")
		pod := fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: reads-of-%[1]s}, spec: {
			restartPolicy: Never,
			containers: [{name: fio, image: %[2]q, imagePullPolicy: Never, volumeDevices: [{name: volume, devicePath: /dev/volume}],
				command: [fio, --name=reads, --filename=/dev/volume, --rw=randread, --direct=1, --runtime=2, --time_based, --output-format=json]}],
			volumes: [{name: volume, persistentVolumeClaim: {claimName: volume-of-%[1]s}}]}}`, class, cluster.Image)
		cluster.Kubectl(t, pod, "apply", "--filename", "-")
		defer cluster.Kubectl(t, pod, "delete", "--filename", "-")
		cluster.Kubectl(t, "", "wait", "pod/reads-of-"+class, "--for", "jsonpath={.status.phase}=Succeeded",
			"--timeout", "3m")
		var printed struct {
			Jobs []struct {
				Read struct {
					Completion struct{ Mean float64 } `json:"clat_ns"`
				}
			}
		}
		log := cluster.Kubectl(t, "", "logs", "reads-of-"+class)
		// Complaints of fio come first.
		if err := json.Unmarshal([]byte(log[max(0, strings.Index(log, "{")):]), &printed); err != nil ||
			len(printed.Jobs) != 1 {
			t.Fatalf("%v:\n%s", err, log)
		}
		mean[class] = time.Duration(printed.Jobs[0].Read.Completion.Mean)
		t.Logf("%s: %v a read", class, mean[class])
	}
	if mean["slow"] < 5*time.Millisecond || mean["fast"] <= 0 || mean["fast"] >= mean["slow"] {
		t.Errorf("reads take %v; those of slow take 5 ms longer", mean)
	}
}
