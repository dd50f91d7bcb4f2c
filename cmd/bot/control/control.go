// Package control is the socket by which commands such as `bot page link` ask the
// running service. A command looks for the service at the sockets that its
// configuration stands for; where nobody listens it works on the store alone, so every
// command exists once and only the program that runs it differs.
//
// A request is the name of a command with its arguments; the answer is what the
// command prints, as it prints it. The file system decides who may ask: a socket has
// the mode 0600. The package knows no command.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Command is one that a person may give to the service. It writes to out what the
// person reads; args are those that the command line had.
type Command func(ctx context.Context, args []string, out io.Writer) error

// ErrNobody is returned by Ask when no service listens.
var ErrNobody = errors.New("no service listens")

// failed is the trailer that holds a command's error.
const failed = "Nod-Error"

// Socket is a socket that this process made.
type Socket struct {
	path    string
	made    os.FileInfo
	listens net.Listener
}

// Listen makes a socket. A later service on the same path has it from then on. It is
// made in a folder that nobody else can enter, since a new socket is open to others
// until its mode is set; a rename takes the place of an older one.
func Listen(ctx context.Context, path string) (*Socket, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	made := filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
	}
	err = errors.Join(os.Chmod(made, 0o600), os.Rename(made, path))
	info, statErr := os.Lstat(path)
	if err = errors.Join(err, statErr); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	return &Socket{path, info, l}, nil
}

// Serve answers commands until ctx is done, and removes the socket.
func (s *Socket) Serve(ctx context.Context, commands map[string]Command) error {
	defer s.remove()
	srv := &http.Server{Handler: handler(commands), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	if err := srv.Serve(s.listens); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer commands: %w", err)
	}
	return nil
}

// remove takes the socket away, unless a later service has put its own in its place.
func (s *Socket) remove() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.made) {
		_ = os.Remove(s.path)
	}
}

func handler(commands map[string]Command) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args []string
		run, known := commands[r.URL.Query().Get("command")]
		switch {
		case !known:
			http.Error(w, "The running service does not know this command; it is of another version.", http.StatusNotFound)
			return
		case json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&args) != nil:
			http.Error(w, "The arguments can't be read.", http.StatusBadRequest)
			return
		}
		w.Header().Set("Trailer", failed)
		w.WriteHeader(http.StatusOK)
		if err := run(r.Context(), args, w); err != nil {
			told, _ := json.Marshal(err.Error())
			w.Header().Set(failed, string(told))
		}
	})
}

// Ask has the service at the first of the sockets that answers run a command, and
// writes to out what it prints. ErrNobody says that none answers.
func Ask(ctx context.Context, paths []string, name string, args []string, out io.Writer) error {
	for _, path := range paths {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		switch {
		case err == nil:
			return ask(ctx, conn, name, args, out)
		case errors.Is(err, fs.ErrPermission):
			return fmt.Errorf("ask the service that runs: %w", err)
		}
	}
	return ErrNobody
}

func ask(ctx context.Context, conn net.Conn, name string, args []string, out io.Writer) error {
	defer func() { _ = conn.Close() }()
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://nod/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	q := req.URL.Query()
	q.Set("command", name)
	req.URL.RawQuery = q.Encode()
	client := http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the service that runs: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return errors.New(string(bytes.TrimSpace(said)))
	}
	if _, err := io.Copy(out, resp.Body); err != nil {
		return fmt.Errorf("read the service's answer: %w", err)
	}
	return toldError(resp.Trailer.Get(failed))
}

func toldError(told string) error {
	if told == "" {
		return nil
	}
	var text string
	if err := json.Unmarshal([]byte(told), &text); err != nil {
		return errors.New("the service's answer can't be read")
	}
	return errors.New(text)
}
