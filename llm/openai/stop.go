package openai

import "strings"

// stops ends a text before the first stop word, piece by piece, for servers that don't:
// some ignore the words, some models refuse them, and the Responses API has none. It
// holds back only text that may become a word.
type stops struct {
	words []string
	held  string
	hit   bool
}

// feed takes a piece and returns the text that surely stands before a stop word.
func (s *stops) feed(piece string) string {
	if s.hit {
		return ""
	}
	text := s.held + piece
	s.held = ""
	if before := cut(text, s.words); before != text {
		s.hit = true
		return before
	}
	n := 0
	for _, w := range s.words {
		n = max(n, partial(text, w))
	}
	s.held = text[len(text)-n:]
	return text[:len(text)-n]
}

// flush returns the held-back text at the end.
func (s *stops) flush() string {
	text := s.held
	s.held = ""
	return text
}

// cut ends a text before the first stop word.
func cut(text string, words []string) string {
	for _, w := range words {
		if w != "" {
			text, _, _ = strings.Cut(text, w)
		}
	}
	return text
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
