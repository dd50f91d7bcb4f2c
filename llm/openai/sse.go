package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
)

// events reads server-sent events and gives their data, a JSON text each. It drops
// comments, keep-alives and names of events. An error event, and an answer that is one
// JSON text or a page of HTML, become an event too. go-openai's own reader miscounts or
// misses some of that, and matches each line with three regular expressions, so it is
// not used.
//
// https://html.spec.whatwg.org/multipage/server-sent-events.html
type events struct {
	body  io.Closer
	lines *bufio.Reader
	ready []byte // the data of an event that was read
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
	return &events{body: body, most: most, lines: bufio.NewReader(http.MaxBytesReader(nil, body, max(streamCap, 2*most)))}
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader, for go-openai, which never reads.
func (e *events) Read([]byte) (int, error) { return 0, io.EOF }

// event gives the data of the next event; io.EOF when there is none any more.
func (e *events) event() ([]byte, error) {
	for e.ready == nil {
		if e.done {
			return nil, io.EOF
		}
		if e.err != nil {
			return nil, e.err
		}
		e.read()
	}
	data := e.ready
	e.ready = nil
	return data, nil
}

// read reads a line.
func (e *events) read() {
	line, err := e.next()
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = endless()
	}
	if err == nil || len(bytes.TrimSpace(line)) > 0 && errors.Is(err, io.EOF) {
		e.line(line)
	}
	if err == nil {
		return
	}
	if _, ok := errors.AsType[*failure](err); ok {
		e.data = nil // of an event that has no end nothing is read
	} else {
		e.dispatch()
	}
	if e.err == nil {
		e.err = err
	}
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

// tooLong ends a stream with an event that is too long. If it is no stream, its
// beginning may still be an answer.
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

// whole reads a response that is no stream as one event.
func (e *events) whole(first []byte) {
	rest, more, err := readUpTo(e.lines, e.most-int64(len(first)))
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
	if string(data) == "[DONE]" {
		e.done = true
		return
	}
	if bytes.ContainsRune(data, '\n') { // of several lines, which hardly any event has
		data = oneLine(data)
	}
	e.ready = data
}

// oneLine joins several lines.
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
