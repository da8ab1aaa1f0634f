//go:build kube

package kube

// Names are those of the present pod and of its namespace.
func (p *Pod) Names() (pod, namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pod, p.cluster.namespace
}

// Abandon is what a SIGKILL leaves: the record without its lock, and all that it names.
func (p *Pod) Abandon() { _ = p.journal.leave() }
