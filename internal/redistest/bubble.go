package redistest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // by which Redis names scripts
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bubble leads clients that live in a testing/synctest bubble to a real server.
//
// For a bubble a goroutine that reads from the network is busy, and some of a
// client's always do, so its time would stand still. Here a connection asks the
// server only for what it answers at once. What waits for news, as a read of a
// stream and a subscription do, rests in the bubble and asks once more when another
// command of the bubble's may have brought some; so nothing else may use what the
// bubble has in the server. And the server has another clock: scripts that ask for
// the time are told the bubble's.
//
// Make one in the bubble, for each client.
type Bubble struct {
	mu      sync.Mutex
	scripts map[string]string // by the name that the client has for them
	news    chan struct{}     // closed when there may be some
	conns   []net.Conn
	cut     bool
}

// NewBubble makes a Bubble.
func NewBubble() *Bubble { return &Bubble{scripts: map[string]string{}, news: make(chan struct{})} }

// Dial connects to a server, by address and port.
func (b *Bubble) Dial(_ context.Context, network, addr string) (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	c, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	out := &bubbled{Conn: c, b: b, server: bufio.NewReader(c), changed: make(chan struct{}, 1)}
	b.conns = append(b.conns, out)
	return out, nil
}

// Cut cuts the client off for good, as its death would: it takes leave of nothing.
func (b *Bubble) Cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = true
	for _, c := range b.conns {
		_ = c.Close() // it is cut
	}
}

// awaited gives what is closed at the next news.
func (b *Bubble) awaited() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

func (b *Bubble) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.news)
	b.news = make(chan struct{})
}

// script remembers a script, and gives its name.
func (b *Bubble) script(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	name := hex.EncodeToString(sum[:])
	b.scripts[name] = text
	return name
}

func (b *Bubble) named(name string) (text string, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, known = b.scripts[strings.ToLower(name)]
	return text, known
}

// bubbled is a connection. What is written to it is sent on once somebody reads the
// answer: one goroutine reads.
type bubbled struct {
	net.Conn // to the server
	b        *Bubble
	server   *bufio.Reader
	changed  chan struct{} // what is below is not as it was
	once     sync.Once     // closes it

	mu         sync.Mutex
	written    []byte // no whole command yet
	todo       [][]string
	answers    bytes.Buffer
	until      time.Time // when reading ends
	subscribed bool
	closed     bool
}

func (c *bubbled) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Write implements net.Conn. It never waits.
func (c *bubbled) Write(p []byte) (n int, err error) {
	c.change(func() {
		if c.closed {
			err = net.ErrClosed
			return
		}
		c.written = append(c.written, p...)
		for {
			r := bufio.NewReader(bytes.NewReader(c.written))
			cmd, bad := command(r)
			if bad != nil { // the rest comes with the next Write
				return
			}
			c.todo = append(c.todo, cmd)
			rest, _ := io.ReadAll(r)
			c.written = rest
		}
	})
	return len(p), err
}

// Close implements net.Conn.
func (c *bubbled) Close() error {
	c.change(func() { c.closed = true })
	c.once.Do(func() { _ = c.Conn.Close() }) // it says nothing that matters to a test
	return nil
}

// SetDeadline implements net.Conn.
func (c *bubbled) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *bubbled) SetReadDeadline(t time.Time) error {
	c.change(func() { c.until = t })
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *bubbled) SetWriteDeadline(time.Time) error { return nil }

// Read implements net.Conn.
func (c *bubbled) Read(p []byte) (int, error) {
	for {
		news := c.b.awaited()
		n, cmd, err := c.next(p)
		switch {
		case n > 0 || err != nil:
			return n, err
		case cmd != nil:
			err = c.perform(cmd)
		default:
			err = c.wait(news, 0)
		}
		if err != nil {
			return 0, err
		}
	}
}

// next gives the answer, or the command to do first.
func (c *bubbled) next(p []byte) (n int, cmd []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, nil, net.ErrClosed
	case c.answers.Len() > 0:
		n, _ = c.answers.Read(p)
	case len(c.todo) > 0:
		cmd, c.todo = c.todo[0], c.todo[1:]
	}
	return n, cmd, nil
}

// wait rests until something changed, so long passed, where that is no 0, or there
// may be news; those are taken from the server where it was subscribed to them.
func (c *bubbled) wait(news <-chan struct{}, most time.Duration) error {
	c.mu.Lock()
	until, subscribed := c.until, c.subscribed
	c.mu.Unlock()
	var late, over <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		late = t.C
	}
	if most > 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-late:
		return os.ErrDeadlineExceeded
	case <-over:
	case <-c.changed:
	case <-news:
		if subscribed {
			return c.messages()
		}
	}
	return nil
}

// messages takes what was published: it stands before the answer to a ping.
func (c *bubbled) messages() error {
	const mark = "bubble"
	if err := c.send([]string{"PING", mark}); err != nil {
		return err
	}
	for {
		answer, err := c.receive()
		if err != nil || bytes.HasSuffix(answer, []byte("\r\n"+mark+"\r\n")) {
			return err
		}
		c.answer(answer)
	}
}

// perform has the server do something.
func (c *bubbled) perform(cmd []string) error {
	answers := 1
	switch name := strings.ToUpper(cmd[0]); name {
	case "XREADGROUP":
		return c.readGroup(cmd)
	case "SUBSCRIBE":
		answers = len(cmd) - 1
		c.change(func() { c.subscribed = true })
	case "SCRIPT":
		if strings.EqualFold(cmd[1], "load") {
			c.b.script(cmd[2])
		}
	case "EVAL", "EVALSHA":
		return c.eval(name, cmd)
	}
	defer c.b.tell()
	if err := c.send(cmd); err != nil {
		return err
	}
	for range answers {
		answer, err := c.receive()
		if err != nil {
			return err
		}
		c.answer(answer)
	}
	return nil
}

// eval runs a script at the bubble's time.
func (c *bubbled) eval(name string, cmd []string) error {
	text := cmd[1]
	if name == "EVAL" {
		c.b.script(text)
	} else if known, ok := c.b.named(text); ok {
		text = known
	} else {
		c.answer([]byte("-NOSCRIPT No matching script. Please use EVAL.\r\n"))
		return nil
	}
	const clock = "bubble:clock"
	text = strings.ReplaceAll(text, "redis.call('TIME')", "redis.call('HMGET', '"+clock+":' .. KEYS[1], 's', 'us')")
	now := time.Now()
	set := []string{"HSET", clock + ":" + cmd[3], "s", strconv.FormatInt(now.Unix(), 10), "us", strconv.Itoa(now.Nanosecond() / 1000)}
	defer c.b.tell()
	if err := errors.Join(c.send(set), c.send(append([]string{"EVAL", text}, cmd[2:]...))); err != nil {
		return err
	}
	if _, err := c.receive(); err != nil {
		return err
	}
	answer, err := c.receive()
	c.answer(answer)
	return err
}

// readGroup reads streams, again and again for as long as the server would block.
func (c *bubbled) readGroup(cmd []string) error {
	var end time.Time
	if i := slices.IndexFunc(cmd, func(s string) bool { return strings.EqualFold(s, "block") }); i > 0 {
		ms, err := strconv.Atoi(cmd[i+1])
		if err != nil {
			return fmt.Errorf("read BLOCK: %w", err)
		}
		end = time.Now().Add(time.Duration(ms) * time.Millisecond)
		cmd = slices.Delete(slices.Clone(cmd), i, i+2)
	}
	for {
		news := c.b.awaited()
		if err := c.send(cmd); err != nil {
			return err
		}
		answer, err := c.receive()
		left := time.Until(end)
		if err != nil || !bytes.Equal(answer, []byte("*-1\r\n")) || left <= 0 {
			c.answer(answer)
			return err
		}
		if err := c.wait(news, left); err != nil {
			return err
		}
		c.mu.Lock()
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return net.ErrClosed
		}
	}
}

func (c *bubbled) answer(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.answers.Write(raw) // in memory
}

// send writes a command to the server.
func (c *bubbled) send(cmd []string) error {
	var out bytes.Buffer
	_, _ = fmt.Fprintf(&out, "*%d\r\n", len(cmd))
	for _, arg := range cmd {
		_, _ = fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(arg), arg)
	}
	_, err := c.Conn.Write(out.Bytes())
	return err
}

// receive reads one answer, as it is written.
func (c *bubbled) receive() ([]byte, error) {
	var raw bytes.Buffer
	err := copyAnswer(&raw, c.server)
	return raw.Bytes(), err
}

// command reads a command (https://redis.io/docs/latest/develop/reference/protocol-spec/).
func command(r *bufio.Reader) ([]string, error) {
	n, err := count(r, '*')
	if err != nil {
		return nil, err
	}
	cmd := make([]string, n)
	for i := range cmd {
		size, err := count(r, '$')
		if err != nil {
			return nil, err
		}
		arg := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, arg); err != nil {
			return nil, err
		}
		cmd[i] = string(arg[:size])
	}
	return cmd, nil
}

func count(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("read %q, want %q", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// copyAnswer copies an answer, with all that is in it.
func copyAnswer(w *bytes.Buffer, r *bufio.Reader) error {
	line, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	_, _ = w.WriteString(line)
	switch line[0] {
	case '+', '-', ':':
		return nil
	case '$', '*':
	default:
		return fmt.Errorf("read the answer %q", line)
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil || n < 0 {
		return err
	}
	if line[0] == '$' {
		_, err := io.CopyN(w, r, int64(n+len("\r\n")))
		return err
	}
	for range n {
		if err := copyAnswer(w, r); err != nil {
			return err
		}
	}
	return nil
}
