// Package python is the tool that runs Python code which a model wrote. Such code
// may repeat what a stranger put into a document, so it is taken for hostile:
//
//   - It runs under bubblewrap in namespaces of its own, as a user without
//     rights, with no network, a filter on system calls, and of the machine's
//     files only the system's programs, read-only.
//   - What no namespace limits is watched from outside while code runs: time,
//     memory and processes of the whole sandbox, size and number of its files.
//     Between calls the interpreter is stopped, so that nothing runs unwatched.
//   - What comes back is believed in nothing: answers, output, names and files
//     are bounded and checked as if a stranger had sent them.
//
// Without a sandbox there is no tool. New tries the sandbox out and says what is
// missing.
//
// A thread has one interpreter, which keeps its variables from call to call and
// ends when nobody used it for a while, and a folder, which stays for longer.
package python

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"nod/setting"
	"nod/tools"
)

// Keys are the keys of tools.python.
type Keys struct {
	Timeout time.Duration `yaml:"timeout" schema:"positive" default:"20s" doc:"Default 20s"`
	Memory  setting.Size  `yaml:"memory" default:"512MiB" schema:"min=32MiB" want:"must be at least 32MiB, as Python does not start in less" doc:"Such as 512MiB, which is the default"`
}

// Make makes the tool, where there is a sandbox for it.
func (k Keys) Make(ctx context.Context, h tools.Host) (tools.Made, error) {
	p, err := New(ctx, Options{Dir: h.Folder, Timeout: k.Timeout, Memory: int64(k.Memory), Keep: h.Keep, Log: h.Log})
	if err != nil {
		return tools.Made{}, err
	}
	return tools.Made{Tools: []tools.Tool{p.Tool()}, Close: p.Close, Forget: p.Forget}, nil
}

// Options are how much the code may use. What is zero takes the default, where there is one.
type Options struct {
	// Dir is where the threads' folders are. It is made when it is not there.
	// Several processes may share it. When this process runs as root, the
	// interpreters run as another user, who must be able to reach it.
	Dir string

	Timeout time.Duration // of a call
	Memory  int64         // bytes, of one interpreter with all that it starts
	Disk    int64         // bytes that the code of a thread may write; 64 MiB
	Idle    time.Duration // an interpreter ends when it was not used for so long; 10 min
	Keep    time.Duration // a folder goes when it was not used for so long; 7 days
	Most    int           // interpreters at once; 8

	Now func() time.Time // for Idle and Keep; time.Now
	Log *slog.Logger     // for the operator; nil: none

	answer time.Duration // that code has to end when it is interrupted, before all is lost; 1 s
	waits  waits
	after  func(time.Duration) <-chan time.Time // when a call took so long; time.After
}

// waits are the time limits of everything but the code of a call. Tests make them long.
type waits struct {
	start  time.Duration // until an interpreter listens
	trial  time.Duration // of the sandbox, with matplotlib's first start on a slow machine
	write  time.Duration // until it has read the code
	exit   time.Duration // until a sandbox has ended whose answers stopped
	end    time.Duration // until all its processes are gone
	freeze int           // checks, a millisecond apart, until the code's processes have ended
}

var usual = waits{start: 20 * time.Second, trial: time.Minute, write: 5 * time.Second, exit: time.Second, end: 5 * time.Second, freeze: 1000}

func (o Options) withDefaults() Options {
	o.Disk = cmp.Or(o.Disk, 64<<20)
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	o.Keep = cmp.Or(o.Keep, 7*24*time.Hour)
	o.Most = cmp.Or(o.Most, 8)
	o.answer = cmp.Or(o.answer, time.Second)
	o.waits = cmp.Or(o.waits, usual)
	if o.after == nil {
		o.after = time.After
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}
