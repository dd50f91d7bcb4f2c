package taint

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hitLine matches the first line of a search result. The next line is its address.
var hitLine = regexp.MustCompile(`^\d+\. `)

// listed says whether a search lists an address as a result, and not only in the words of
// one.
func listed(text, address string) bool {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if hitLine.MatchString(l) && i+1 < len(lines) && strings.TrimSpace(lines[i+1]) == address {
			return true
		}
	}
	return false
}

// personNamed says whether a person named an address, perhaps without the parts that
// people leave out.
func personNamed(text, address string) bool {
	for _, form := range []string{address, strings.TrimSuffix(address, "/")} {
		_, bare, schemed := strings.Cut(form, "://")
		if holds(text, form) || schemed && holds(text, bare) {
			return true
		}
	}
	return false
}

// holds says whether a value stands in a text as a whole, and not within a longer word.
func holds(text, value string) bool {
	if value == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			return false
		}
		at := from + i
		if beginsAt(text[:at]) && endsAt(text[at+len(value):]) {
			return true
		}
		from = at + 1
	}
}

const edges = "<>()[]{}\"'`,;|*“”‘’«»"

// beginsAt says whether a word can begin behind a text. People write @ and # before names.
func beginsAt(before string) bool {
	for _, mark := range []string{"@", "#"} {
		if rest, ok := strings.CutSuffix(before, mark); ok && !strings.HasSuffix(rest, mark) {
			return beginsAt(rest)
		}
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsSpace(r) || strings.ContainsRune(edges, r) || r == ':'
}

// endsAt says whether a word can end before a text, also at the end of a sentence.
func endsAt(after string) bool {
	rest := strings.TrimLeft(after, ".!?:")
	r, _ := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "" || unicode.IsSpace(r):
		return true
	case rest != after:
		return strings.ContainsRune(edges, r) && rest != ""
	}
	return strings.ContainsRune(edges, r)
}
