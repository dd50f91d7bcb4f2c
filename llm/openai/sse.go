package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
)

// events reads server-sent events and gives them on in the one form that
// go-openai's reader understands: a line "data: JSON" each. What that reader
// counts, misses or stumbles over goes no further: comments and keep-alives,
// event names, data over several lines. An error that comes as an event by
// that name, and an answer that is no stream at all but one JSON text (or a
// page of HTML), become an event too.
//
// https://html.spec.whatwg.org/multipage/server-sent-events.html
type events struct {
	body  io.Closer
	lines *bufio.Reader
	out   bytes.Buffer
	name  string // of the event that is being read
	data  []byte
	begun bool // a line that belongs to a stream has been seen
	done  bool // [DONE] has been seen
	err   error
}

func newEvents(body io.ReadCloser) *events {
	return &events{body: body, lines: bufio.NewReader(io.LimitReader(body, answerCap))}
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		line, err := e.lines.ReadBytes('\n')
		if err == nil || len(bytes.TrimSpace(line)) > 0 && err == io.EOF {
			e.line(line)
		}
		if err != nil {
			e.dispatch()
		}
		if e.err == nil {
			e.err = err
		}
	}
	return e.out.Read(p)
}

func (e *events) line(raw []byte) {
	line := bytes.TrimRight(raw, "\r\n")
	if !e.begun {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	}
	field, value, colon := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		e.dispatch()
	case colon && string(field) == "data":
		e.begun = true
		e.data = append(append(e.data, value...), '\n')
		// Some leave out the blank line between events.
		if one := bytes.TrimSpace(e.data); string(one) == "[DONE]" || json.Valid(one) {
			e.dispatch()
		}
	case colon && string(field) == "event":
		e.begun = true
		e.name = string(bytes.TrimSpace(value))
	case colon && (len(field) == 0 || string(field) == "id" || string(field) == "retry"):
		e.begun = true
	case e.begun && bytes.HasPrefix(line, []byte("{")) && json.Valid(line):
		e.data = line
		e.dispatch()
	case !e.begun:
		e.whole(raw)
	}
}

// whole takes what is no stream as one event.
func (e *events) whole(first []byte) {
	rest, err := io.ReadAll(e.lines)
	if err != nil {
		e.err = err
		return
	}
	all := slices.Concat(first, rest)
	if !json.Valid(all) {
		e.err = unreadable(all)
		return
	}
	e.data = all
	e.dispatch()
	e.done = true
}

// dispatch gives on the event that was read, if there is one.
func (e *events) dispatch() {
	data := bytes.TrimSpace(e.data)
	if e.name == "error" && len(data) > 0 {
		data = asError(data)
	}
	e.data, e.name = nil, ""
	if len(data) == 0 || e.done {
		return
	}
	e.done = string(data) == "[DONE]"
	e.out.WriteString("data: ")
	var flat bytes.Buffer
	if json.Compact(&flat, data) == nil {
		data = flat.Bytes()
	}
	if bytes.HasPrefix(data, []byte(`{"error":`)) { // go-openai would read it, and lose half of it
		e.out.WriteString("{ ")
		data = data[1:]
	}
	e.out.Write(bytes.ReplaceAll(data, []byte("\n"), []byte(" ")))
	e.out.WriteString("\n\n")
}

func asError(data []byte) []byte {
	if !json.Valid(data) {
		data, _ = json.Marshal(string(data)) // strings always marshal
	}
	return append(append([]byte(`{"error":`), data...), '}')
}
