package results

import (
	"headroom/internal/app"
	"headroom/internal/lab"
	"headroom/internal/rule"
)

// LoadRules reads the built-in rules and those of a file.
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
