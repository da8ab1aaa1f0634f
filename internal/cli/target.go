package cli

// bootsFreely says whether a target is booted in any way that an experiment varies, without permission.
func (p *program) bootsFreely(name string) bool { return p.App.Traits(name).OwnBoot }
