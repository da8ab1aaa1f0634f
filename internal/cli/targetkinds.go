package cli

// targetNames are the beginnings of targets.
func (p *program) targetNames() []string {
	var names []string
	for _, k := range p.AllKinds() {
		names = append(names, k.Completions...)
	}
	return names
}
