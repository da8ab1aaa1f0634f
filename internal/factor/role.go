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

// concerns reports whether two factors can be about the same end of a network; a factor that names no end is about
// both.
func concerns(a, b string) bool {
	first, _ := SplitRole(a)
	second, _ := SplitRole(b)
	return first == "" || second == "" || first == second
}

// KeepOfRole selects the texts for --keep that are about the machine of a role, and removes the role from them.
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
