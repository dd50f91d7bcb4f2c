package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
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
	most  int64 // bytes of an event
	lined int   // lines of data of the event that is being read
	begun bool  // a line that belongs to a stream has been seen
	done  bool  // [DONE] has been seen
	err   error
}

// mostLined is how many lines of data are looked at for the end of an event that
// has no blank line behind it. Each look reads all of them again.
const mostLined = 32

// overlong is an answer in one, where a stream was due, that is too long to be
// read as a whole.
type overlong struct{ begun []byte }

// Error implements error.
func (*overlong) Error() string { return "an answer without an end" }

func newEvents(body io.ReadCloser, most int64) *events {
	return &events{body: body, most: most, lines: bufio.NewReader(&bounded{body, max(streamCap, 2*most)})}
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		line, err := e.next()
		if err == nil || len(bytes.TrimSpace(line)) > 0 && errors.Is(err, io.EOF) {
			e.line(line)
		}
		if f := new(failure); errors.As(err, &f) {
			e.data = nil // of an event that has no end nothing is read
		} else if err != nil {
			e.dispatch()
		}
		if e.err == nil {
			e.err = err
		}
	}
	return e.out.Read(p)
}

// next reads a line; one that is too long to be an event is an error.
func (e *events) next() ([]byte, error) {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case int64(len(line)+len(e.data)) > e.most:
			return line, e.tooLong(line)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// tooLong is the end of a stream of which an event is too long. What is no stream
// may still be the beginning of an answer.
func (e *events) tooLong(line []byte) error {
	if !e.begun && bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return &overlong{line}
	}
	return endless()
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
		e.lined++
		if one := bytes.TrimSpace(e.data); string(one) == "[DONE]" || e.lined <= mostLined && json.Valid(one) {
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
	rest, more, err := readUpTo(e.lines, e.most)
	all := slices.Concat(first, rest)
	if more {
		err = &overlong{all}
	}
	if err != nil {
		e.err = err
		return
	}
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
	e.data, e.name, e.lined = nil, "", 0
	if len(data) == 0 || e.done {
		return
	}
	e.done = string(data) == "[DONE]"
	e.out.WriteString("data: ")
	if bytes.ContainsRune(data, '\n') { // of several lines, which hardly any event has
		data = oneLine(data)
	}
	if bytes.HasPrefix(data, []byte(`{"error":`)) { // go-openai would read it, and lose half of it
		e.out.WriteString("{ ")
		data = data[1:]
	}
	e.out.Write(data)
	e.out.WriteString("\n\n")
}

// oneLine puts what came in several lines into one.
func oneLine(data []byte) []byte {
	var flat bytes.Buffer
	if json.Compact(&flat, data) == nil {
		data = flat.Bytes()
	}
	return bytes.ReplaceAll(data, []byte("\n"), []byte(" "))
}

func asError(data []byte) []byte {
	if !json.Valid(data) {
		data, _ = json.Marshal(string(data)) // strings always marshal
	}
	return append(append([]byte(`{"error":`), data...), '}')
}
