package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
)

// LoadRules reads the built-in rules, and the rules of a file.
func LoadRules(file string) (*rule.Set, error) {
	rules, err := rule.BuiltIn()
	if err != nil {
		return nil, err
	}
	if file != "" {
		data, err := app.ReadInput(file)
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't read the rules", Err: err}
		}
		own, err := rule.Decode(file, data)
		if err != nil {
			return nil, err
		}
		rules = append(rules, own...)
	}
	return rule.Compile(rules)
}
