package stat

// FamilyWise is the confidence that each of m intervals needs for all of them together to hold with probability
// 1-alpha, however they depend on each other: 1 - alpha/m (Bonferroni). A suite that asks eight questions at 95% each
// answers one of them wrongly in a third of all suites.
//
// Holm's steps decide a little more at the same alpha, but with intervals that end at "no change" wherever they do: a
// verdict beside which no size can be printed. Sidak's power, exact for independent cells, would narrow the intervals
// by a quarter of a per cent.
func FamilyWise(alpha float64, m int) float64 { return 1 - alpha/float64(max(m, 1)) }
