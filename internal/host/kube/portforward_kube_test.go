//go:build system && kube

package kube_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/headroom/headroom/internal/testing/standin"
)

// subresources is the group of what KubeVirt's API server does with machines that run, and plain the protocol of its
// streams. Source: PlainStreamProtocolName of kubevirt.io/client-go/subresources.
const (
	subresources = "subresources.kubevirt.io"
	plain        = "plain.kubevirt.io"
)

// servePortForward has the API server of the cluster hand on to the guests of a stand-in what is meant for their ports,
// as it does by KubeVirt's API server, until the test ends. It answers virtctl port-forward, and nothing else.
func servePortForward(t *testing.T, virt *standin.KubeVirt, namespace string) {
	t.Helper()
	u, err := url.Parse(
		strings.TrimSpace(kubectl(t, "", "config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")))
	if err != nil {
		t.Fatal(err)
	}
	// The address by which this machine reaches the cluster is one that the cluster reaches, and nobody else.
	to, err := net.Dial("tcp4", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	here := to.LocalAddr().(*net.TCPAddr).IP.String()
	to.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis/"+subresources+"/v1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "APIResourceList", "apiVersion": "v1",
			"groupVersion": subresources + "/v1", "resources": []any{
				map[string]any{"name": "virtualmachineinstances/portforward", "singularName": "", "namespaced": true,
					"kind": "VirtualMachineInstance", "verbs": []string{"get"}}}})
	})
	mux.HandleFunc("GET /apis/"+subresources+"/v1/namespaces/"+namespace+"/"+
		"virtualmachineinstances/{name}/portforward/{port}/tcp",
		func(w http.ResponseWriter, r *http.Request) {
			address, err := virt.Address(r.Context(), r.PathValue("name"))
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			forward(t, w, r, net.JoinHostPort(address, r.PathValue("port")))
		})
	s := httptest.NewUnstartedServer(mux)
	s.Listener.Close()
	if s.Listener, err = net.Listen("tcp4", net.JoinHostPort(here, "0")); err != nil {
		t.Fatal(err)
	}
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	kubectl(t, `{apiVersion: v1, kind: Service, metadata: {name: virt-api}, spec: {type: ExternalName, externalName: "`+here+`"}}`, "create", "-n", namespace, "-f", "-")
	service := fmt.Sprintf(
		`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.%[1]s}, spec: {group: %[1]s, version: v1, groupPriorityMinimum: 1000, versionPriority: 15,
		insecureSkipTLSVerify: true, service: {name: virt-api, namespace: %s, port: %d}}}`, subresources, namespace, s.Listener.Addr().(*net.TCPAddr).Port)
	kubectl(t, service, "create", "-f", "-")
	t.Cleanup(func() { kubectl(t, service, "delete", "-f", "-") })
	kubectl(t, service, "wait", "--for", "condition=Available", "--timeout", "1m", "-f", "-")
}

// forward connects a stream of the API with an address until one of them ends.
func forward(t *testing.T, w http.ResponseWriter, r *http.Request, address string) {
	to, err := net.Dial("tcp4", address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer to.Close()
	stream, err := (&websocket.Upgrader{Subprotocols: []string{plain}}).Upgrade(w, r, nil)
	if err != nil {
		t.Logf("the stand-in for KubeVirt's API server: %v", err)
		return
	}
	defer stream.Close()
	go func() {
		defer to.Close()
		for {
			_, message, err := stream.ReadMessage()
			if err != nil {
				return // the client is gone
			}
			if _, err := to.Write(message); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := to.Read(buffer)
		if n > 0 && stream.WriteMessage(websocket.BinaryMessage, buffer[:n]) != nil {
			return
		}
		if err == io.EOF {
			_ = stream.WriteMessage(websocket.CloseMessage,
				websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		}
		if err != nil {
			return
		}
	}
}
