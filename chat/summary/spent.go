package summary

import (
	"strconv"
	"strings"

	"nod/chat"
)

// Spent is a turn's usage: tokens in and out, the cached ones, and the money if prices
// are known. Empty if the provider reported nothing.
func Spent(s *chat.Steps) string {
	t := s.Tokens
	if t.Prompt+t.Completion == 0 {
		return ""
	}
	text := Thousands(t.Prompt) + "+" + Thousands(t.Completion) + " tokens"
	if t.Cached > 0 {
		text += " (" + Thousands(t.Cached) + " cached)"
	}
	if s.Cost > 0 {
		text += ", " + chat.Money(s.Cost)
	}
	return text
}

// Count says how many there are of something.
func Count(n int, what string) string {
	stem, y := strings.CutSuffix(what, "y")
	switch {
	case n == 1:
	case y: // as of a reply
		what = stem + "ies"
	default:
		what += "s"
	}
	return Thousands(n) + " " + what
}

// Thousands is a number with separators.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
