// Package redistest starts real Redis servers for tests: one, one with a
// replica, a cluster, a sentinel. A test may kill a server and start it again
// at the same place with the data that it had on disk, as happens to people.
//
// The servers come from PATH and keep their files in the test's own directory.
package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience bounds how long a server may take to start, or a cluster to agree. Only a
// failing test waits for it.
const patience = 5 * time.Minute

// Server is a redis-server process.
type Server struct {
	Port int

	binary string
	dir    string
	args   []string
	out    *output
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server that keeps everything on disk and drops nothing, with
// further options as redis-server takes them ("--port", "0"). It ends with the
// test. Without redis-server the test fails, unless NOD_NO_REDIS is set.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	s := prepare(t, "redis-server")
	s.args = append([]string{
		"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}, options...)
	s.Restart(t)
	return s
}

func prepare(t testing.TB, binary string) *Server {
	t.Helper()
	if os.Getenv("NOD_NO_REDIS") != "" {
		t.Skip("NOD_NO_REDIS is set")
	}
	path, err := exec.LookPath(binary)
	if err != nil {
		t.Fatalf("find %s: %v; run `make deps`, or set NOD_NO_REDIS to skip", binary, err)
	}
	s := &Server{Port: FreePort(t), binary: path, dir: t.TempDir(), out: &output{}}
	t.Cleanup(func() {
		s.Kill(t)
		if t.Failed() {
			t.Logf("%s at %s wrote:\n%s", binary, s.Addr(), s.out.tail())
		}
	})
	return s
}

// FreePort gives a port without a listener, whose neighbour for a cluster node is free
// too. Both are below the ports that the kernel gives to connections, one of which
// could take it before the server does.
func FreePort(t testing.TB) int {
	t.Helper()
	sign, err := thousand()
	if err != nil {
		t.Fatalf("find free port: %v", err)
	}
	for range 10_000 {
		port := sign.Addr().(*net.TCPAddr).Port - 1 - rand.N(999)
		if free(port) && free(port+10000) && reserve(port) {
			return port
		}
	}
	t.Fatal("find free port: none")
	return 0
}

// thousand takes a thousand ports for this process, and listens on the last one as a sign
// of that: the tests of other packages start servers at the same time.
var thousand = sync.OnceValues(func() (sign net.Listener, err error) {
	for last := 10_999; last < 20_000; last += 1000 {
		if sign, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(last)); err == nil {
			return sign, nil
		}
	}
	return nil, err
})

func free(port int) bool {
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// reserved are the ports given out by this process, so that two servers that
// start at the same time don't get the same.
var reserved sync.Map

func reserve(port int) bool {
	_, taken := reserved.LoadOrStore(port, true)
	return !taken
}

// Addr gives host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// Dir is the folder of its files.
func (s *Server) Dir() string { return s.dir }

// URL gives the server's URL.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Kill ends the process at once, as a power cut would end it. It may be dead
// already.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("kill redis: %v", err)
	}
	<-s.exited
	s.cmd = nil
}

// Restart starts the process again with what it had on disk, and waits until
// it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill(t)
	s.cmd = exec.Command(s.binary, s.args...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start redis: %v", err)
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() {
		_ = cmd.Wait() // it is killed in the end
		close(exited)
	}()
	until(t, "redis answers at "+s.Addr(), func(ctx context.Context) error {
		select {
		case <-exited:
			t.Fatalf("start redis: it ended: %s", s.out.tail())
		default:
		}
		c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		if err != nil {
			return err
		}
		_ = c.Close()
		if s.tlsOnly() {
			return nil
		}
		err = s.Client(t).Ping(ctx).Err()
		if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil // it answers, though not us
		}
		return err
	})
}

// Pause stops the process without ending it, so that it answers nothing, and
// Resume lets it go on.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.signal(t, syscall.SIGCONT)
}

func (s *Server) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("signal redis: %v", err)
	}
}

// tlsOnly says whether the port speaks TLS, which Client doesn't.
func (s *Server) tlsOnly() bool {
	for i, a := range s.args[:len(s.args)-1] {
		if a == "--tls-port" && s.args[i+1] == strconv.Itoa(s.Port) {
			return true
		}
	}
	return false
}

// Client gives a client of its own, closed with the test.
func (s *Server) Client(t testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Replica starts a replica of the server, and waits until it is in step.
func (s *Server) Replica(t testing.TB, options ...string) *Server {
	t.Helper()
	r := Start(t, append([]string{"--replicaof", "127.0.0.1 " + strconv.Itoa(s.Port)}, options...)...)
	until(t, "the replica is in step", func(ctx context.Context) error {
		info, err := s.Client(t).Info(ctx, "replication").Result()
		if err == nil && !bytes.Contains([]byte(info), []byte(fmt.Sprintf("port=%d,state=online", r.Port))) {
			err = errors.New("not online yet")
		}
		return err
	})
	return r
}

// Cluster starts n servers that share the slots among them.
func Cluster(t testing.TB, n int) []*Server {
	t.Helper()
	var servers []*Server
	for i := range n {
		s := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
		from, to := i*16384/n, (i+1)*16384/n-1
		if err := s.Client(t).ClusterAddSlotsRange(t.Context(), from, to).Err(); err != nil {
			t.Fatalf("assign slots: %v", err)
		}
		servers = append(servers, s)
	}
	for i, s := range servers {
		c := s.Client(t)
		if err := c.Do(t.Context(), "cluster", "set-config-epoch", i+1).Err(); err != nil {
			t.Fatalf("set config epoch: %v", err)
		}
		if err := c.ClusterMeet(t.Context(), "127.0.0.1", strconv.Itoa(servers[0].Port)).Err(); err != nil {
			t.Fatalf("meet: %v", err)
		}
	}
	for _, s := range servers {
		until(t, "the cluster agrees", func(ctx context.Context) error {
			info, err := s.Client(t).ClusterInfo(ctx).Result()
			if err == nil && !(bytes.Contains([]byte(info), []byte("cluster_state:ok")) &&
				bytes.Contains([]byte(info), []byte("cluster_slots_ok:16384"))) {
				err = errors.New("not yet")
			}
			return err
		})
	}
	return servers
}

// ClusterReplica starts a replica of a server of a cluster, that takes its place
// when it dies.
func (s *Server) ClusterReplica(t testing.TB) *Server {
	t.Helper()
	id, err := s.Client(t).ClusterMyID(t.Context()).Result()
	if err != nil {
		t.Fatalf("ask for the id: %v", err)
	}
	r := Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
	c := r.Client(t)
	if err := c.ClusterMeet(t.Context(), "127.0.0.1", strconv.Itoa(s.Port)).Err(); err != nil {
		t.Fatalf("meet: %v", err)
	}
	until(t, "the cluster knows the replica", func(ctx context.Context) error { return c.ClusterReplicate(ctx, id).Err() })
	until(t, "the replica is in step", func(ctx context.Context) error {
		info, err := s.Client(t).Info(ctx, "replication").Result()
		if err == nil && !strings.Contains(info, "state=online") {
			err = errors.New("not online yet")
		}
		return err
	})
	return r
}

// Sentinel starts a sentinel that watches the server under the name "main",
// and waits until it knows the server's replicas. It alone decides that the
// server is down, after half a second. With a password, its clients need that.
func (s *Server) Sentinel(t testing.TB, replicas int, password ...string) *Server {
	t.Helper()
	w := prepare(t, "redis-server")
	conf := filepath.Join(w.dir, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor main 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", w.Port, w.dir, s.Port)
	if len(password) > 0 {
		text += "requirepass " + password[0] + "\n"
	}
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatalf("write configuration: %v", err)
	}
	w.args = []string{conf, "--sentinel"}
	w.Restart(t)
	until(t, "the sentinel knows the replicas", func(ctx context.Context) error {
		c := w.Client(t)
		if len(password) > 0 {
			if err := c.Do(ctx, "auth", password[0]).Err(); err != nil {
				return err
			}
		}
		found, err := c.Do(ctx, "sentinel", "replicas", "main").Slice()
		if err == nil && len(found) < replicas {
			err = errors.New("not yet")
		}
		return err
	})
	return w
}

// until waits until f gives no error.
func until(t testing.TB, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s: %v", what, err)
		case <-tick.C:
		}
	}
}

// output keeps what a process writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// tail gives the last of it.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.buf.Bytes()
	return string(b[max(0, len(b)-4000):])
}
