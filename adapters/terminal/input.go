package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/term"
)

// maxLine is the longest line that piped input may have, in bytes.
const maxLine = 1 << 20

// typed is a line of input, or the error that ended it: io.EOF when it just
// ended.
type typed struct {
	text   string
	pasted bool // a whole line of a paste: what follows belongs to it
	err    error
}

// source is where lines come from.
type source interface{ next() typed }

// read hands over the lines of a source until it ends or done is closed.
func read(from source, lines chan<- typed, done <-chan struct{}) {
	for {
		l := from.next()
		select {
		case lines <- l:
		case <-done:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// pipe reads lines that nobody edits.
type pipe struct{ lines *bufio.Scanner }

func newPipe(in io.Reader) pipe {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	return pipe{s}
}

func (p pipe) next() typed {
	if p.lines.Scan() {
		return typed{text: p.lines.Text()}
	}
	err := p.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return typed{err: fmt.Errorf("a line is longer than %d bytes", maxLine)}
	}
	if err != nil {
		return typed{err: err}
	}
	return typed{err: io.EOF}
}

// editor reads lines from a keyboard.
type editor struct{ *term.Terminal }

func (e editor) next() typed {
	text, err := e.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		return typed{text: text, pasted: true}
	}
	return typed{text: text, err: err}
}

// keyboard stands between the keys and the editor. It keeps Ctrl-C to itself,
// and takes the live region off the screen while an Enter is handled: the
// editor scrolls the typed line up, and the region could not be found again to
// be erased.
type keyboard struct {
	in      io.Reader
	adapter *Adapter
}

const (
	ctrlC = "\x03"
	enter = "\r\n"
)

// Read implements io.Reader for the editor, which asks for more once it has
// handled all that it was given.
func (k *keyboard) Read(p []byte) (int, error) {
	k.hold(false)
	for {
		n, err := k.in.Read(p)
		keys := k.interrupts(p[:n])
		if len(keys) == 0 && err == nil {
			continue
		}
		if bytes.ContainsAny(keys, enter) {
			k.hold(true)
		}
		return copy(p, keys), err
	}
}

// interrupts takes the Ctrl-C out of what was typed, and passes them on.
func (k *keyboard) interrupts(keys []byte) []byte {
	for range bytes.Count(keys, []byte(ctrlC)) {
		select {
		case k.adapter.keys <- struct{}{}:
		default: // two wait already
		}
	}
	return bytes.ReplaceAll(keys, []byte(ctrlC), nil)
}

func (k *keyboard) hold(on bool) {
	k.adapter.mu.Lock()
	defer k.adapter.mu.Unlock()
	if k.adapter.con.editor == nil {
		return
	}
	if on {
		k.adapter.con.hold()
	} else {
		k.adapter.con.release()
	}
}
