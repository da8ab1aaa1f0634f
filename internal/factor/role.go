package factor

import "strings"

// The ends of a network, as factors name them.
const (
	Client = "client"
	Server = "server"
)

// SplitRole takes from a factor the end of a network that it is about, "client:nic:eth0/mtu"; the role is empty where
// it is about all machines under test.
func SplitRole(factorName string) (role, bare string) {
	for _, r := range []string{Client, Server} {
		if rest, ok := strings.CutPrefix(factorName, r+":"); ok {
			return r, rest
		}
	}
	return "", factorName
}

// concerns says whether what is said of one factor is about another: both may name an end, and where one of them names
// none, it is about both.
func concerns(a, b string) bool {
	first, _ := SplitRole(a)
	second, _ := SplitRole(b)
	return first == "" || second == "" || first == second
}

// KeepOfRole are the texts of what is to be kept that are about the machine of a role, without the role.
func KeepOfRole(texts []string, role string) []string {
	var own []string
	for _, text := range texts {
		of, bare := SplitRole(text)
		if of == "" || of == role {
			own = append(own, bare)
		}
	}
	return own
}
