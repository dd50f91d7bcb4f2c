// Command replay plays all attacks against a program that was built, and prints
// the scoreboard: see package nod/internal/attack.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"nod/internal/attack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	bot := flag.String("bot", "bin/bot", "the program")
	data := flag.String("data", "", "recorded suites; without them only those of the project are played")
	taint := flag.String("taint", "ask", "agent.taint: off shows what the scoreboard shows where nothing defends")
	find := flag.String("find", "never", "tools.find; always: the model spells each call by use_tool")
	platform := flag.String("platform", "", "play on this one alone: slack, discord")
	suite := flag.String("suite", "", "play this one alone")
	every := flag.Int("every", 1, "play one case of so many")
	atOnce := flag.Int("at-once", max(1, runtime.NumCPU()), "how many programs run at once")
	flag.Parse()
	board, err := play(ctx, *bot, *data, *taint, *find, only{*platform, *suite}, *every, *atOnce)
	if len(board.Setups) > 0 {
		err = errors.Join(err, board.Write(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if !board.Good() {
		return 1
	}
	return 0
}

// only names what is played alone; empty: all.
type only struct{ platform, suite string }

// leavesOut says whether a set-up is not played.
func (o only) leavesOut(s attack.Setup) bool {
	return o.platform != "" && s.Platform != o.platform || o.suite != "" && s.Suite.Name != o.suite
}

func play(ctx context.Context, bot, data, taint, find string, what only, every, atOnce int) (attack.Board, error) {
	path, err := filepath.Abs(bot)
	if err != nil {
		return attack.Board{}, fmt.Errorf("find the program: %w", err)
	}
	suites, err := attack.Load(data)
	if err != nil {
		return attack.Board{}, err
	}
	if data == "" {
		fmt.Println("without recorded attacks: give NOD_ATTACK_DATA the path of a file of them; only those of the project are played")
	}
	dir, err := os.MkdirTemp("", "nod-attack-*")
	if err != nil {
		return attack.Board{}, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	setups := slices.DeleteFunc(attack.Setups(suites...), what.leavesOut)
	return attack.Plan{
		Setups: setups, Taint: taint, Find: find, Dir: dir, AtOnce: atOnce,
		Pick: func(setup int, cases []attack.Case) []attack.Case { return attack.Every(every, setup, cases) },
		Bot: func(ctx context.Context, args ...string) error {
			c := exec.CommandContext(ctx, path, append([]string{"--log-level", "error"}, args...)...)
			c.Stderr = os.Stderr
			c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
			c.WaitDelay = 30 * time.Second
			if err := c.Run(); err != nil && ctx.Err() == nil {
				return fmt.Errorf("run %s %s: %w", bot, args[0], err)
			}
			return nil
		},
	}.Run(ctx)
}
