package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"nod/tools/mcp/wire"
)

// events is a stream of events (https://html.spec.whatwg.org/multipage/server-sent-events.html)
// whose messages are tidied on the way.
type events struct {
	io.Closer
	lines *bufio.Reader
	most  int // bytes of one event
	fault *fault
	call  *running // that it answers; nil where it answers none
	ready bytes.Buffer
	err   error
}

func newEvents(body io.ReadCloser, most int, f *fault, call *running) *events {
	return &events{Closer: body, lines: bufio.NewReaderSize(body, 32<<10), most: most, fault: f, call: call}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.ready.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	return e.ready.Read(p)
}

// next takes one event in. What the stream ends with goes on as it is.
func (e *events) next() {
	var whole, data []byte
	lines := 0
	for {
		line, err := e.line(len(whole))
		whole = append(whole, line...)
		text := bytes.TrimRight(line, "\r\n")
		if more, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			lines++
			data = append(append(data, bytes.TrimPrefix(more, []byte(" "))...), '\n')
		}
		if err != nil {
			e.err = err
			e.ready.Write(whole)
			return
		}
		if len(text) == 0 {
			break
		}
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	better := withCall(wire.Tidy(data), e.call)
	if lines == 0 || bytes.Equal(better, data) {
		e.ready.Write(whole)
		return
	}
	for line := range bytes.Lines(whole) {
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 && !bytes.HasPrefix(text, []byte("data:")) {
			e.ready.Write(line)
		}
	}
	e.ready.WriteString("data: ")
	e.ready.Write(better)
	e.ready.WriteString("\n\n")
}

// line reads a line of an event of which there are so many bytes already.
func (e *events) line(before int) ([]byte, error) {
	var line []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		if before+len(line)+len(part) > e.most+1024 { // the SDK has the last word on its bound
			return line, e.fault.note(tooLong(e.most))
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
