package terminal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/term"
)

// maxLine is the longest line that piped input may have, in bytes.
const maxLine = 1 << 20

// typed is a line of input, or the error that ended it: io.EOF when it just
// ended.
type typed struct {
	text   string
	pasted bool          // a whole line of a paste: what follows belongs to it
	waited time.Duration // for the input, where it is piped
	err    error
}

// source is where lines come from.
type source interface{ next() typed }

// pause is how long the input has to be waited for before a line that somebody writes
// just then, and no next one of a script, which is there at once.
const pause = 50 * time.Millisecond

// read hands over the lines of a source until it ends or done is closed: to late
// those that were waited for, to lines all others.
func read(from source, lines, late chan<- typed, done <-chan struct{}) {
	for {
		l, to := from.next(), lines
		if l.waited >= pause && l.err == nil {
			to = late
		}
		select {
		case to <- l:
		case <-done:
			return
		}
		if l.err != nil {
			break
		}
	}
	if e, typing := from.(editor); typing {
		e.keys.watch()
	}
}

// pipe reads lines that nobody edits.
type pipe struct {
	lines *bufio.Scanner
	in    *timed
}

func newPipe(in io.Reader) pipe {
	p := pipe{in: &timed{in: in}}
	p.lines = bufio.NewScanner(p.in)
	p.lines.Buffer(nil, maxLine)
	return p
}

func (p pipe) next() typed {
	p.in.waited = 0
	if p.lines.Scan() {
		return typed{text: p.lines.Text(), waited: p.in.waited}
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

// timed knows how long its reads took.
type timed struct {
	in     io.Reader
	waited time.Duration
}

func (t *timed) Read(p []byte) (int, error) {
	began := time.Now()
	n, err := t.in.Read(p)
	t.waited += time.Since(began)
	return n, err
}

// editor reads lines from a keyboard.
type editor struct {
	*term.Terminal
	keys *keyboard
}

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
		keys := k.adapter.hide(k.interrupts(p[:n]))
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

// watch reads keys for their Ctrl-C only, once Ctrl-D has ended the lines.
func (k *keyboard) watch() {
	keys := make([]byte, 16)
	for {
		n, err := k.in.Read(keys)
		k.interrupts(keys[:n])
		if err != nil {
			return
		}
	}
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
