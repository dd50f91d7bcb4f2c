package markdown

import (
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"nod/chat"
)

// span is a range of bytes.
type span struct{ start, end int }

// inlines gives the ranges of a paragraph or heading that should not be cut:
// links, code, emphasis.
func inlines(block string) []span {
	if len(block) > 1<<16 || !plainWords(block) {
		return nil
	}
	src := []byte(block)
	first := inlineParser.Parse(text.NewReader(src)).FirstChild()
	if first == nil || first.Kind() != ast.KindParagraph && first.Kind() != ast.KindHeading {
		return nil
	}
	var out []span
	for n := first.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindText || n.Kind() == ast.KindString {
			continue
		}
		end := len(src)
		if next := n.NextSibling(); next != nil {
			end = next.Pos()
		}
		out = append(out, span{n.Pos(), end})
	}
	return out
}

// cutText cuts running text, where possible outside of the spans: at the end
// of a line, of a sentence, of a word, or else between two characters.
func (s splitter) cutText(src string, keep []span, first int) []string {
	var parts []string
	limit := first
	rest := strings.TrimRight(src, blank)
	shift := 0 // where in src rest begins
	for {
		n := s.fit(rest, limit)
		if n == len(rest) {
			return append(parts, rest)
		}
		at := place(rest, n, func(at int) bool {
			i := sort.Search(len(keep), func(i int) bool { return keep[i].end > shift+at })
			return i < len(keep) && keep[i].start < shift+at
		})
		parts = append(parts, strings.TrimRight(rest[:at], blank))
		next := strings.TrimLeft(rest[at:], blank)
		taken := len(rest) - len(next)
		shift += taken
		rest = next
		if taken > 1 { // else it would never end
			rest = disarm(next)
			shift -= len(rest) - len(next)
		}
		limit = s.max
	}
}

// fit says how many bytes of the text are within the limit, at least one
// character.
func (s splitter) fit(t string, limit int) int {
	used := 0
	for i, r := range t {
		size := utf8.RuneLen(r)
		used += s.length(t[i : i+size])
		if used > limit && i > 0 {
			return i
		}
	}
	return len(t)
}

// How good a place for a cut is. Places that would tear something apart, or
// after which text would be taken for markup, are worse by clean.
const (
	atWord = 1 + iota
	atSentence
	atLine
	clean = 10
)

// place finds where to cut, at n bytes or before. It looks at the second half
// first, and further back only until it has found something.
func place(t string, n int, tears func(at int) bool) int {
	best, found := 0, 0
	for at := n; at > 0; at-- {
		if at < n/2 && found > clean || at < n/4 && found > 0 {
			break
		}
		worth := worthOf(t, at)
		if worth == 0 {
			continue
		}
		if !tears(at) && !isMarkup(strings.TrimLeft(t[at:], blank)) {
			worth += clean
		}
		if worth > found {
			best, found = at, worth
		}
	}
	if found == 0 {
		return clusters(t, n)
	}
	return best
}

// worthOf rates the place before the byte at.
func worthOf(t string, at int) int {
	switch last, _ := utf8.DecodeLastRuneInString(t[:at]); {
	case t[at] == '\n':
		return atLine
	case t[at] == ' ' && strings.ContainsRune(".!?:;", last):
		return atSentence
	case t[at] == ' ' || t[at] == '\t':
		return atWord
	case strings.ContainsRune("。！？；", last):
		return atSentence
	case strings.ContainsRune("，、：", last):
		return atWord
	}
	return 0
}

// clusters gives the last place, at n bytes or before, between two characters
// as a reader sees them. Where one is longer than n, it is n.
func clusters(t string, n int) int {
	const lookahead = 64
	end := min(len(t), n+lookahead)
	for end < len(t) && !utf8.RuneStart(t[end]) {
		end++
	}
	at := 0
	for g := graphemes.FromString(t[:end]); g.Next(); {
		if g.End() > n {
			break
		}
		at = g.End()
	}
	if at == 0 {
		return n
	}
	return at
}

// opensBlock matches text that is markup only since it begins a line.
var opensBlock = regexp.MustCompile("^(?:```|~~~|#{1,6}(?:\\s|$)|>|[-+*](?:\\s|$)|(?:[-_*=][ \t]*)+(?:\n|$)|\\[[^\\]\n]*\\]:|<[!?/]|<[A-Za-z][A-Za-z0-9-]*(?:[\\s/>]|$))")

// opensItem matches the number of a list item.
var opensItem = regexp.MustCompile(`^\d{1,9}([.)])(?:\s|$)`)

// head is the part of a text that decides which markup it opens. A longer text may look
// like markup when it is none, and that does no harm.
func head(t string) string { return t[:min(len(t), 200)] }

func isMarkup(t string) bool {
	t = head(t)
	return opensBlock.MatchString(t) || opensItem.MatchString(t) || strings.HasPrefix(t, "<")
}

// disarm keeps text that now begins a part from becoming markup.
func disarm(t string) string {
	if m := opensItem.FindStringSubmatchIndex(head(t)); m != nil {
		return t[:m[2]] + `\` + t[m[2]:]
	}
	if opensBlock.MatchString(head(t)) {
		return `\` + t
	}
	return t
}

// Inline writes a text as code within a line, which a backtick of its own would end. Of
// nothing it makes nothing.
func Inline(s string) string {
	s = strings.ReplaceAll(chat.Flat(s), "`", "ˋ")
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
