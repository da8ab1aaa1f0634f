//go:build kube

package kube

// Names are those of the present pod and of its namespace.
func (p *Pod) Names() (pod, namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod, p.cluster.namespace
}

// Abandon is what a SIGKILL leaves: the record without its lock, and all that it names.
func (p *Pod) Abandon() { _ = p.record.journal.release() }

// Pieces are the objects that a machine is made of, as JSON.
func Pieces(o Options) ([]string, error) {
	r := machineRequest{options: o, session: "0123456789", cluster: &cluster{}}
	r.userData = userData("ecdsa-sha2-nistp256 AAAA user", "-----BEGIN\nAAAA\n-----END\n",
		"ecdsa-sha2-nistp256 AAAA host")
	var all []string
	for _, p := range r.components("") {
		text, err := p.object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}
