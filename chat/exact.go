package chat

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Exact shows arguments so that nothing in them is hidden from the people who
// approve them: a character that has no width, that turns the direction of
// text or that drives a terminal is written as JSON writes it.
func Exact(args string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(args, "\uFFFD") {
		switch {
		case r == '\n', r == '\t', !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r) && r != '\u2028' && r != '\u2029':
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
