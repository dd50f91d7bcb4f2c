package view

import (
	"strings"
)

// mostCompared bounds the comparison of lines with lines. Longer texts count as replaced.
const mostCompared = 400 * 400

// difference shows how one text became another: unchanged lines behind two spaces, old
// ones behind a minus, new ones behind a plus.
func difference(before, now string) string {
	a, b := textLines(before), textLines(now)
	var out []string
	put := func(sign string, lines []string) {
		for _, l := range lines {
			out = append(out, sign+" "+l)
		}
	}
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	end := 0
	for end < len(a)-from && end < len(b)-from && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	put(" ", a[:from])
	old, fresh := a[from:len(a)-end], b[from:len(b)-end]
	if len(old)*len(fresh) > mostCompared {
		put("-", old)
		put("+", fresh)
	} else {
		for _, c := range aligned(old, fresh) {
			put(c.sign, []string{c.line})
		}
	}
	put(" ", a[len(a)-end:])
	return strings.Join(out, "\n")
}

func textLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

type compared struct{ sign, line string }

// aligned finds the most lines that two texts have in common, in order.
func aligned(a, b []string) (out []compared) {
	common := make([][]int, len(a)+1) // of a[i:] and b[j:]
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, compared{" ", a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, compared{"-", a[i]})
			i++
		default:
			out = append(out, compared{"+", b[j]})
			j++
		}
	}
	return out
}
