package mcp

import (
	"bufio"
	"bytes"
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
		line, err := e.fault.line(e.lines, e.most+1024-len(whole), e.most) // the SDK has the last word on its bound
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
