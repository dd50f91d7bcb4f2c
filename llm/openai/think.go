package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	space      = " \t\r\n"
)

// thinking removes thoughts between <think> and </think> from the start of a content,
// piece by piece. It holds back only text that may become a tag, and the white space
// around thoughts.
type thinking struct {
	state int
	held  string
}

// Positions of the end of the fed text.
const (
	beforeThoughts  = iota
	openingThoughts // white space after the tag
	insideThoughts
	afterThoughts // white space after the tag
	insideAnswer
)

// feed takes a piece and returns its decided part.
func (t *thinking) feed(piece string) (text, thought string) {
	s := t.held + piece
	t.held = ""
	if t.state == beforeThoughts {
		trimmed := strings.TrimLeft(s, space)
		switch {
		case strings.HasPrefix(trimmed, thinkOpen):
			t.state, s = openingThoughts, trimmed[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, trimmed):
			t.held = s
			return "", ""
		default:
			t.state = insideAnswer
		}
	}
	if t.state == openingThoughts {
		if s = strings.TrimLeft(s, space); s != "" {
			t.state = insideThoughts
		}
	}
	if t.state == insideThoughts {
		before, after, closed := strings.Cut(s, thinkClose)
		if !closed {
			n := partial(s, thinkClose)
			t.held = s[len(s)-n:]
			return "", s[:len(s)-n]
		}
		t.state, thought, s = afterThoughts, before, after
	}
	if t.state == afterThoughts {
		if s = strings.TrimLeft(s, space); s != "" {
			t.state = insideAnswer
		}
	}
	return s, thought
}

// flush returns the held-back text at the end.
func (t *thinking) flush() (text, thought string) {
	s := t.held
	t.held = ""
	if t.state == insideThoughts {
		return "", s
	}
	return s, ""
}

// partial says how much of the end of s is a beginning of tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
