package ceiling

import "strings"

const (
	// belowLink is how far below the link's rate a load at its limit can be: 111 to 118 MB/s over 1 Gbit/s.
	belowLink = 0.06
	// belowDiskLink is the same for SATA, whose handshakes are not counted: SSDs reach 530 to 560 MB/s.
	belowDiskLink = 0.11
	jumbo         = 9000
)

// usualLinks returns the names of links with a rate of about value B/s; empty for none. It is for results without a
// known link.
func usualLinks(value float64) string {
	var found []string
	for _, gigabits := range []float64{1, 2.5, 10, 25} {
		least, _, _ := Ethernet(gigabits*1e9, commonMTU)
		_, most, _ := Ethernet(gigabits*1e9, jumbo)
		if value >= least*(1-belowLink) && value <= most {
			found = append(found, bitRate(gigabits*1e9)+" Ethernet")
		}
	}
	for _, gigabits := range []float64{3, 6} {
		least, _, _ := DiskLink{Gigabits: gigabits}.Rate()
		if value >= least*(1-belowDiskLink) && value <= least {
			found = append(found, "SATA at "+bitRate(gigabits*1e9))
		}
	}
	return strings.Join(found, " or ")
}

// reason returns a possible cause of a plateau without a known ceiling.
func (p Plateau) reason() string {
	if link := p.usual(); link != "" {
		return "; that is what " + link + " carries: if the data goes over such a link, it is the reason"
	}
	return ""
}

func (p Plateau) usual() string {
	if !strings.HasSuffix(p.Metric, ".bandwidth") {
		return ""
	}
	return usualLinks(p.Value)
}

// alike reports whether random and sequential I/O run at the rate of a link, which is unusual for drives: two cells are
// enough then.
func (p Plateau) alike(patterns map[string]bool) bool {
	random, sequential := false, false
	for rw := range patterns {
		random = random || strings.HasPrefix(rw, "rand")
		sequential = sequential || !strings.HasPrefix(rw, "rand")
	}
	return random && sequential && len(p.Cells) == 2 && p.usual() != ""
}
