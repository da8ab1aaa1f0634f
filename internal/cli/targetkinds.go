package cli

// targetNames are the names that the configuration has for targets, and the beginnings of others.
func (p *program) targetNames() []string {
	var names []string
	settings, _, _ := p.App.Config() // a file that can't be read has no settings
	for _, name := range settings.TargetNames() {
		names = append(names, name+"\t"+settings.Targets[name].Text)
	}
	for _, k := range p.App.AllKinds() {
		names = append(names, k.Completions...)
	}
	return names
}
