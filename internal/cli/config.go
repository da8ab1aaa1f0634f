package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/prose"
)

// configSchema names the published JSON document of config show.
const configSchema = "headroom/config/v1"

// configDocument has the effective settings, with their sources.
type configDocument struct {
	Schema   string          `json:"schema"`
	Files    []configFile    `json:"files"`
	Settings []configSetting `json:"settings"`
	Targets  []configSetting `json:"targets"`
}

type configFile struct {
	File   string       `json:"file"`
	Origin config.Place `json:"origin"`
	Read   bool         `json:"read"`
}

// configSetting is a setting, or a target by its name.
type configSetting struct {
	Name string `json:"name"`
	// Value is absent if the setting has a separate default where it is used.
	Value  string       `json:"value,omitempty"`
	Origin config.Place `json:"origin"`
	// From is the flag, the variable or the file.
	From     string `json:"from,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Variable string `json:"variable,omitempty"`
	// shown and at are value and origin as printed in a table.
	shown, at string
}

// configCommand shows the settings.
type configCommand struct{ app *app.App }

func newConfigCommand(*app.App) *cobra.Command {
	return &cobra.Command{
		Use: "config",
		Long: `Settings are read from ~/.config/headroom/config.yaml ($XDG_CONFIG_HOME) and from
/etc/headroom/config.yaml. Everything in a file is optional:

  store: ~/headroom         # folder of saved runs
  suites: /srv/suites       # suites there are found by their names
  margin: 5%                # default of --margin
  alpha: 1%                 # default of --alpha
  redact: true              # default of --redact
  serials: false            # default of --serials
  ssh-patience: 10m         # how long a lost connection is retried
  targets:                  # names to use in the place of targets
    fast-nas: ssh://root@nas:2222
    vm: qemu:~/guest.yaml

Further keys: ssh-config, kube-image, kube-disk. Each key has an environment variable: HEADROOM_MARGIN is
margin, HEADROOM_SSH_PATIENCE is ssh-patience; HEADROOM_TARGETS='fast-nas=ssh://root@nas db=ssh://db1' has
targets. Flags come first, then the environment, the user's file, the system's file.

--config FILE or HEADROOM_CONFIG names another file in place of the user's own; --config none reads no file.
A file that another user could have written is refused.`,
		Example: "  headroom config show\n  headroom config show --json\n  headroom run quick /srv --on fast-nas",
		Args:    argumentCount(0, 0, "no argument, or show"),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
}

func newConfigShowCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "show",
		Example: "  headroom config show\n  headroom config show --json",
		Args:    argumentCount(0, 0, "no argument"),
		RunE:    func(*cobra.Command, []string) error { return configCommand{a}.show() },
	}
	flagsOf(a, c).json()
	return c
}

func (c configCommand) show() error {
	d, err := c.document()
	if err != nil {
		return err
	}
	if c.app.JSON {
		return c.app.PrintJSON(d)
	}
	w := tabwriter.NewWriter(c.app.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range d.Settings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, prose.Inline(s.shown), prose.Inline(s.at))
	}
	for _, s := range d.Targets {
		fmt.Fprintf(w, "target %s\t%s\t%s\n", s.Name, prose.Inline(s.shown), prose.Inline(s.at))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range d.Files {
		state := "not there"
		if f.Read {
			state = "read"
		}
		fmt.Fprintf(c.app.Stderr, "%s's file: %s (%s)\n", f.Origin, prose.Inline(f.File), state)
	}
	return nil
}

func (c configCommand) document() (configDocument, error) {
	settings, files, err := c.app.Config()
	d := configDocument{Schema: configSchema, Files: []configFile{}, Targets: []configSetting{}}
	if err != nil {
		return d, err
	}
	for _, f := range files {
		d.Files = append(d.Files, configFile{f.Name, f.Place, f.Read})
	}
	if c.app.StoreDir != "" {
		settings.Values[config.Store] = config.Value{Text: c.app.StoreDir, Origin: config.Origin{Place: config.Flag,
			Name: "--store"}}
	}
	for _, k := range config.Keys() {
		v, set := settings.Values[k.Name]
		if !set {
			v.Origin.Place = config.Default
			if k.Name == config.Store {
				v.Text = c.app.DefaultStore()
			}
		}
		s := settingOf(k.Name, v)
		s.Variable = config.Variable(k.Name)
		if s.shown == "" {
			s.shown = k.Default
		}
		d.Settings = append(d.Settings, s)
	}
	for _, name := range settings.TargetNames() {
		d.Targets = append(d.Targets, settingOf(name, settings.Targets[name]))
	}
	return d, nil
}

func settingOf(name string, v config.Value) configSetting {
	return configSetting{Name: name, Value: v.Text, Origin: v.Origin.Place, From: v.Origin.Name, Line: v.Origin.Line,
		Column: v.Origin.Column, shown: v.Text, at: v.Origin.String()}
}
