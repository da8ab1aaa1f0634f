package factor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/linux"
)

// equals reports whether two texts are the same value to the kernel. If they differ, and only one is a number or a
// switch, the other text may be the same value in another notation.
func equals(asked, shown string) verdict {
	switch {
	case spot.Same(switched(asked), switched(shown)):
		return holds
	case oneWord(asked) && oneWord(shown) && isNumber(asked) == isNumber(shown):
		return fails
	}
	return silent
}

// switched writes the words for on and off that kstrtobool of the kernel's lib/kstrtox.c takes as numbers.
func switched(text string) string {
	switch strings.ToLower(text) {
	case "on", "true", "t":
		return "1"
	case "off", "false", "f":
		return "0"
	}
	return text
}

func oneWord(text string) bool { return len(strings.Fields(text)) == 1 }

func isNumber(text string) bool {
	_, err := strconv.ParseInt(spot.Plain(switched(text)), 0, 64)
	return err == nil
}

// numbers compares two numbers; any other text is no evidence.
func numbers(asked, shown string) verdict {
	if !isNumber(asked) || !isNumber(shown) {
		return silent
	}
	return equals(asked, shown)
}

// either compares the requested word with the shown one, if both are in the list; any other word is no evidence.
func either(words ...string) func(asked, shown string) verdict {
	return func(asked, shown string) verdict {
		switch {
		case !slices.Contains(words, asked) || !slices.Contains(words, shown):
			return silent
		case asked == shown:
			return holds
		}
		return fails
	}
}

// oneOf is some word out of several, and no other.
func oneOf(wanted ...string) func(asked, shown string) verdict {
	return func(_, shown string) verdict {
		if slices.Contains(wanted, shown) {
			return holds
		}
		return fails
	}
}

// among checks that the right word is shown. A word of the wrong list fails; any other word is no evidence.
func among(right string, wrong ...string) func(asked, shown string) verdict {
	return anyOf([]string{right}, wrong...)
}

// anyOf is among with several right words.
func anyOf(right []string, wrong ...string) func(asked, shown string) verdict {
	return func(_, shown string) verdict {
		switch {
		case slices.Contains(right, shown):
			return holds
		case slices.Contains(wrong, shown):
			return fails
		}
		return silent
	}
}

// has and lacks look for a word in a list with commas.
func has(word string) func(asked, shown string) verdict {
	return func(_, shown string) verdict {
		if slices.Contains(strings.Split(shown, ","), word) {
			return holds
		}
		return fails
	}
}

func lacks(word string) func(asked, shown string) verdict {
	return func(asked, shown string) verdict {
		if has(word)(asked, shown) == holds {
			return fails
		}
		return holds
	}
}

// lockedDown fails if the kernel should be locked down and the lockdown module is not in use.
func lockedDown(asked, shown string) verdict {
	if asked == "none" || has("lockdown")(asked, shown) == holds {
		return silent
	}
	return fails
}

// some holds if anything is shown, and no if nothing is.
func some(_, shown string) verdict {
	if shown != "" {
		return holds
	}
	return fails
}

func no(asked, shown string) verdict {
	if some(asked, shown) == holds {
		return fails
	}
	return holds
}

// mitigationOff reads a file of vulnerabilities. A colon after "Vulnerable" introduces a partial mitigation, or what is
// missing for one, except for Spectre v1 of x86, whose usual mitigations can't be switched off. Other processors have
// no switch for it. Where the flaw can't be used anyway (TSX or SMT is off, or arm64 has CSV2), the kernel says so
// before it looks at the argument.
//
//	Vulnerable; SMT vulnerable
//	Vulnerable, IBPB: disabled, STIBP: disabled
//	Vulnerable: __user pointer sanitization and usercopy barriers only; no swapgs barriers
//	Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown
//	Mitigation: PTI
//	Mitigation: TSX disabled
//	Mitigation: CSV2, BHB
//	Not affected
//	Unknown: Dependent on hypervisor status
func mitigationOff(_, shown string) verdict {
	switch {
	case strings.Contains(shown, "no swapgs barriers"), shown == "Vulnerable", strings.HasPrefix(shown, "Vulnerable;"),
		strings.HasPrefix(shown, "Vulnerable,"):
		return holds
	case strings.HasPrefix(shown, "Mitigation: __user pointer sanitization"), shown == "Mitigation: TSX disabled",
		shown == "Mitigation: SMT disabled", strings.HasPrefix(shown, "Mitigation: CSV2"):
		return silent
	case strings.HasPrefix(shown, "Mitigation:"), strings.HasPrefix(shown, "Vulnerable: Clear CPU buffers attempted"):
		return fails
	}
	return silent
}

// branchHistoryLeft reads what arm64 says of Spectre v2: whether branch history is dealt with, where a core needs it.
//
//	Mitigation: CSV2, BHB
//	Mitigation: CSV2, but not BHB
func branchHistoryLeft(_, shown string) verdict {
	switch {
	case strings.HasSuffix(shown, ", but not BHB"):
		return holds
	case strings.HasSuffix(shown, ", BHB"):
		return fails
	}
	return silent
}

// mitigated is the inverse of mitigationOff.
func mitigated(asked, shown string) verdict {
	switch mitigationOff(asked, shown) {
	case holds:
		return fails
	case fails:
		return holds
	}
	return silent
}

// countOfCPUs compares the length of a list of CPUs with a limit. If the machine has fewer anyway, that is no evidence.
func countOfCPUs(asked, shown string) verdict {
	most, err := strconv.Atoi(asked)
	cpus, unread := linux.ParseCPUs(shown)
	switch {
	case err != nil || unread != nil || len(cpus) < max(most, 1):
		return silent
	case len(cpus) == max(most, 1): // maxcpus=0 leaves the boot CPU
		return holds
	}
	return fails
}

// isolatedCPUs compares the CPUs behind the flags of isolcpus=. The kernel shows only the CPUs of the flag domain,
// which is the default.
//
//	isolcpus=2-7
//	isolcpus=managed_irq,domain,2-7
func isolatedCPUs(asked, shown string) verdict {
	flags, domain := 0, true
	list := strings.Split(asked, ",")
	for flags < len(list) && slices.Contains([]string{"nohz", "domain", "managed_irq"}, list[flags]) {
		flags++
		domain = slices.Contains(list[:flags], "domain")
	}
	return listOfCPUs(domain, strings.Join(list[flags:], ","), shown)
}

// withoutTick compares CPUs without a tick. The boot CPU always keeps its tick.
func withoutTick(asked, shown string) verdict {
	if shown == "(null)" || shown == "" {
		return fails
	}
	if listOfCPUs(true, asked, shown) == holds {
		return holds
	}
	return silent
}

func listOfCPUs(shownAtAll bool, asked, shown string) verdict {
	wanted, err := linux.ParseCPUs(asked)
	switch {
	case !shownAtAll || err != nil:
		return silent
	case linux.FormatCPUs(wanted) == linux.CanonicalCPUs(shown):
		return holds
	}
	return fails
}
