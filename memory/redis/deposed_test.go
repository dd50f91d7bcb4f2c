package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nod/internal/redistest"
)

// watcher is a sentinel that says what a test wants it to say.
type watcher struct {
	net.Listener
	master  *redistest.Server
	own     string       // the run ID of that
	runID   atomic.Value // of whom it takes for the master
	replica atomic.Value // how it finds the only replica
}

func newWatcher(t *testing.T, master *redistest.Server) *watcher {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{Listener: l, master: master}
	conn := master.Client(t).Conn()
	t.Cleanup(func() { _ = conn.Close() })
	w.own = runIDOf(within(t), conn)
	w.sees(w.own, "slave")
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c)
		}
	}()
	return w
}

func (w *watcher) sees(runID, replica string) {
	w.runID.Store(runID)
	w.replica.Store(replica)
}

func (w *watcher) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for r := bufio.NewReader(c); ; {
		args, err := command(r)
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, w.answer(strings.ToLower(strings.Join(args, " "))))
	}
}

func (w *watcher) answer(line string) string {
	host, port, _ := net.SplitHostPort(w.master.Addr())
	switch {
	case strings.HasPrefix(line, "sentinel get-master-addr-by-name"):
		return bulk(host, port)
	case strings.HasPrefix(line, "sentinel replicas"):
		return "*1\r\n" + bulk("name", "r", "ip", host, "port", "1", "flags", w.replica.Load().(string))
	case strings.HasPrefix(line, "sentinel master"):
		return bulk("name", "main", "ip", host, "port", port, "flags", "master", "runid", w.runID.Load().(string))
	case strings.HasPrefix(line, "sentinel sentinels"):
		return "*0\r\n"
	case strings.HasPrefix(line, "subscribe"), strings.HasPrefix(line, "psubscribe"):
		return ""
	case line == "ping":
		return "+PONG\r\n"
	}
	return "-ERR unknown command\r\n"
}

// command reads a command as clients send it.
func command(r *bufio.Reader) (args []string, err error) {
	n, err := number(r, '*')
	for range n {
		size, err := number(r, '$')
		if err != nil {
			return nil, err
		}
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(r, arg); err != nil {
			return nil, err
		}
		args = append(args, string(arg[:size]))
	}
	return args, err
}

func number(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil || len(line) < 3 || line[0] != kind {
		return 0, fmt.Errorf("read %q: %w", line, err)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

func bulk(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, s := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(s), s)
	}
	return b.String()
}

// A server without a confirming replica has no replicas only if the sentinels take it
// for the master, and its replicas for dead. Otherwise another server may just have
// taken its place, and its own writes are lost.
func TestDeposedServerAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := master.Replica(t)
	w := newWatcher(t, master)
	s := openStore(t, "redis+sentinel://"+w.Addr().String()+"/main", Options{Logger: quiet})
	if _, err := s.Put(within(t), someThread, text("one"), "e1"); err != nil {
		t.Fatal(err)
	}
	replica.Kill(t)
	put := func(id string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := s.Put(ctx, someThread, text(id), id)
		return err
	}
	for i, now := range []struct{ runID, replica string }{
		{w.own, "slave,disconnected"},            // another was just made of it
		{"", "slave,disconnected"},               // which was not asked yet who it is
		{"another", "s_down,slave,disconnected"}, // and is cut off from the one before
		{"", "s_down,slave,disconnected"},        //
		{w.own, "slave"},                         // it is only slow
	} {
		w.sees(now.runID, now.replica)
		if put(fmt.Sprint("lost", i)) == nil {
			t.Errorf("acknowledged with %+v", now)
		}
	}
	w.sees(w.own, "s_down,slave,disconnected")
	if _, err := s.Put(within(t), someThread, text("two"), "e2"); err != nil {
		t.Errorf("Put after the only replica died: %v", err)
	}
}
