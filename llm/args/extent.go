package args

import (
	"errors"
	"strings"
)

var (
	errBrackets = errors.New("the brackets of the arguments do not match; write the whole JSON object again")
	errElided   = errors.New(`the arguments leave something out ("..."); write them in full`)
	errNoValue  = errors.New("a name in the arguments has no value; write the whole JSON object again")
)

// scanner walks over text that is nearly JSON and tracks open brackets. It understands
// no more than it needs to find the end.
type scanner struct {
	text string
	open []byte // the closing brackets that are awaited
	last byte   // the last character that counts; '"' for a whole string
}

// extent finds the end of the object at the start of text. It decides that an object is
// complete before any repair, since a repairer closes every open bracket. On valid JSON
// it agrees with encoding/json.
func extent(text string) (int, error) {
	s := scanner{text: text}
	for i := 0; i < len(text); {
		n, err := s.step(i)
		if err != nil {
			return 0, err
		}
		i += n
		if len(s.open) == 0 {
			return i, nil
		}
	}
	return 0, ErrUnclosed
}

// step returns the length of the token at i.
func (s *scanner) step(i int) (int, error) {
	rest := s.text[i:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "..."), strings.HasPrefix(rest, "…"):
		return 0, errElided
	case strings.HasPrefix(rest, "//"):
		return until(rest, "\n")
	case strings.HasPrefix(rest, "/*"):
		return until(rest, "*/")
	case strings.HasPrefix(rest, "“"):
		s.last = '"'
		return until(rest, "”")
	case c == '"', (c == '\'' || c == '`') && strings.IndexByte("{[,:", s.last) >= 0:
		s.last = '"'
		return stringLen(rest)
	case c == '{', c == '[':
		s.last = c
		if len(s.open) == maxDepth {
			return 0, errBrackets
		}
		s.open = append(s.open, c+2) // in ASCII the closing bracket is two further
		return 1, nil
	case c == '}', c == ']':
		return 1, s.shut(c)
	case c == ',' && s.last == ':':
		return 0, errNoValue
	case c != ' ' && c != '\t' && c != '\n' && c != '\r':
		s.last = c
	}
	return 1, nil
}

func (s *scanner) shut(c byte) error {
	if s.last == ':' {
		return errNoValue
	}
	if len(s.open) == 0 || s.open[len(s.open)-1] != c {
		return errBrackets
	}
	s.open, s.last = s.open[:len(s.open)-1], c
	return nil
}

// until is the length of rest up to and with the mark.
func until(rest, mark string) (int, error) {
	i := strings.Index(rest, mark)
	if i < 0 {
		return 0, ErrUnclosed
	}
	return i + len(mark), nil
}

// stringLen is the length of the quoted string with which rest begins.
func stringLen(rest string) (int, error) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			return i + 1, nil
		}
	}
	return 0, ErrUnclosed
}
