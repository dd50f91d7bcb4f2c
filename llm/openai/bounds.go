package openai

import (
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"unicode/utf8"

	"nod/llm"
	"nod/llm/thought"
)

// A model may never end, and a server may send anything. [Options.MaxOutput] bounds the
// kept part of a completion. A multiple of it bounds one event, and an answer that
// comes in one piece: JSON writes a character in up to six bytes, and some servers send
// a text several times. streamCap bounds a whole stream, whose pieces are not kept.
// Beyond a bound nothing is tried again: the next try would be the same.
const (
	defaultOutput = 256 << 10
	perOutput     = 16
	beside        = 1 << 20  // of an answer or an event, for any MaxOutput
	streamCap     = 64 << 20 // of all of a stream
)

// endless is the end of reading an answer that is too long to be one.
func endless() *failure {
	return &failure{public: llm.Error{Fault: llm.Malformed, Message: "an answer without an end"}}
}

// room is the remaining space for the text of a completion, in bytes.
type room struct {
	left int
	over bool // something was cut off
}

// fit returns the part of a piece that fits. It never cuts a character in two, and
// after a cut it returns nothing more.
func (r *room) fit(piece string) string {
	if r.over {
		return ""
	}
	if len(piece) <= r.left {
		r.left -= len(piece)
		return piece
	}
	r.over = true
	n := r.left
	for n > 0 && !utf8.RuneStart(piece[n]) {
		n--
	}
	return piece[:n]
}

// readUpTo reads at most so many bytes; more says that there would have been.
func readUpTo(r io.Reader, most int64) (data []byte, more bool, err error) {
	data, err = io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(data)) > most {
		return data[:most], true, nil
	}
	return data, false, err
}

var textField = regexp.MustCompile(`"(?:content|text)"\s*:\s*"`)

// beginning is the answer that began in a JSON text that was cut off, as far as
// there is room for it. Its calls are not looked at: half a command is another
// command.
func beginning(cut []byte, most int) (llm.Response, bool) {
	at := textField.FindIndex(cut)
	if at == nil {
		return llm.Response{}, false
	}
	rest := cut[at[1]:]
	end := 0
	for end < len(rest) && rest[end] != '"' && end < 6*most {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	rest = rest[:min(end, len(rest))]
	for n := range min(len(rest), 12) { // an escape may be cut in two
		var text string
		if json.Unmarshal(slices.Concat([]byte(`"`), rest[:len(rest)-n], []byte(`"`)), &text) == nil {
			r := room{left: most}
			said, thinks := thought.Split(r.fit(text))
			return llm.Response{Text: said, Reasoning: thinks, Finish: "length"}, true
		}
	}
	return llm.Response{}, false
}
