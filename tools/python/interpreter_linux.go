package python

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

//go:embed driver.py
var driver string

const answerMost = 256 << 10 // bytes of an answer

// interpreter is a sandbox with Python in it. One goroutine at a time uses it.
type interpreter struct {
	waits         *waits
	bwrap         *exec.Cmd
	first, python *os.Process // in the sandbox: the first process, and Python

	requests *os.File
	answers  chan answer // closed when there won't be more
	out      output
	pipes    []*os.File    // to close at the end
	gone     chan struct{} // closed when bwrap has ended
	readers  sync.WaitGroup
}

// request and answer are the messages to and from the driver, each behind its length.
// The code can write answers too, and read requests.
type request struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

type answer struct {
	ID     string   `json:"id"`
	Failed bool     `json:"failed"`
	Error  string   `json:"error"`
	Names  []string `json:"names"`
}

// start gives an interpreter that listens, with dir as its working folder.
func (s *sandbox) start(ctx context.Context, dir string) (*interpreter, error) {
	i := &interpreter{waits: &s.o.waits, answers: make(chan answer, 1), gone: make(chan struct{}), out: output{kept: newKept()}}
	if err := i.launch(ctx, s, dir); err != nil {
		return nil, err
	}
	var err error
	select {
	case a, ok := <-i.answers:
		if ok && a.ID == "ready" {
			err = i.find()
		} else {
			<-i.gone
			err = &notStarted{i.outputNow()}
		}
	case <-time.After(i.waits.start):
		err = errors.New("start the sandbox: it takes too long")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, i.end())
	}
	return i, nil
}

// notStarted is a sandbox that ended before it was one. What bwrap or Python
// said of that is for the operator.
type notStarted struct{ output string }

func (e *notStarted) Error() string { return "start the sandbox: " + firstLine(e.output) }

// launch starts the processes, and the goroutines that read from them.
func (i *interpreter) launch(ctx context.Context, s *sandbox, dir string) error {
	var theirs [5]*os.File // requests, answers, filter, options, output
	var ours [5]*os.File
	defer func() { closeAll(append(theirs[:], ours[2], ours[3])) }()
	for n := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			return fmt.Errorf("make pipe: %w", err)
		}
		theirs[n], ours[n] = w, r
		if n == 0 || n == 2 || n == 3 {
			theirs[n], ours[n] = r, w
		}
	}
	i.requests, i.pipes = ours[0], []*os.File{ours[0], ours[1], ours[4]}
	raw, err := ours[4].SyscallConn()
	if err == nil {
		_, err = ours[2].Write(s.filter) // fits into the pipe
	}
	if err == nil {
		_, err = ours[3].Write(s.options(dir)) // so do they
	}
	if err != nil {
		closeAll(i.pipes)
		return fmt.Errorf("prepare pipe: %w", err)
	}
	i.out.pipe = raw
	// The interpreter outlives the call that starts it.
	i.bwrap = exec.CommandContext(context.WithoutCancel(ctx), s.bwrap, s.args()...)
	i.bwrap.Dir = "/"
	i.bwrap.Env = []string{"PATH=/usr/bin:/bin"} // code can read bwrap's environment
	i.bwrap.Stdout, i.bwrap.Stderr = theirs[4], theirs[4]
	i.bwrap.ExtraFiles = theirs[:4]
	i.bwrap.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.credential}
	if err := i.bwrap.Start(); err != nil {
		closeAll(i.pipes)
		return fmt.Errorf("start bwrap: %w", err)
	}
	i.readers.Go(i.out.pump)
	i.readers.Go(func() { i.listen(ours[1]) })
	i.readers.Go(func() {
		defer close(i.gone)
		_ = i.bwrap.Wait() // how it ended says nothing that is not known otherwise
	})
	return nil
}

// closeAll closes pipes, if they are there. What could go wrong there changes nothing.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// listen reads answers until one makes no sense.
func (i *interpreter) listen(from io.Reader) {
	defer close(i.answers)
	for {
		var size [4]byte
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(size[:])
		if n > answerMost {
			return
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(from, data); err != nil {
			return
		}
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			return
		}
		select {
		case i.answers <- a:
		case <-i.gone:
			return
		}
	}
}

// send gives code to the interpreter, and the name of the answer to it.
func (i *interpreter) send(code string) (id string, err error) {
	id = rand.Text()
	data, err := json.Marshal(request{ID: id, Code: code})
	if err != nil {
		return "", fmt.Errorf("write request: %w", err)
	}
	if err := i.python.Signal(syscall.SIGCONT); err != nil {
		return "", fmt.Errorf("wake the interpreter: %w", err)
	}
	if err := i.requests.SetWriteDeadline(time.Now().Add(i.waits.write)); err != nil {
		return "", fmt.Errorf("write request: %w", err)
	}
	data = append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
	if _, err := i.requests.Write(data); err != nil {
		return "", fmt.Errorf("write request: %w", err)
	}
	return id, nil
}

// outputNow returns the output since the last call.
func (i *interpreter) outputNow() string {
	_ = i.out.drain() // of a pipe that is closed there is no more
	return i.out.text()
}

// status says how a sandbox ended whose answers stopped coming.
func (i *interpreter) status() string {
	select {
	case <-i.gone:
	case <-time.After(i.waits.exit):
		return " its connection"
	}
	code := i.bwrap.ProcessState.ExitCode()
	if code > 128 { // as a shell reports a signal
		return fmt.Sprintf(" (%s)", syscall.Signal(code-128))
	}
	return fmt.Sprintf(" (exit status %d)", code)
}

// end kills every process of the sandbox and waits until they are gone. The
// kernel ends a namespace with its first process, and lets that one go last.
func (i *interpreter) end() error {
	kill := i.bwrap.Process
	if i.first != nil {
		kill = i.first
	}
	if err := kill.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end the sandbox: %w", err)
	}
	var err error
	select {
	case <-i.gone:
	case <-time.After(i.waits.end):
		err = errors.New("end the sandbox: its processes go on")
		_ = i.bwrap.Process.Kill() // the rest follows it as soon as it can
	}
	closeAll(i.pipes)
	i.readers.Wait()
	return err
}
