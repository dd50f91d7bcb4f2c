package python

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed probe.py
var probeCode string

// probe runs code that looks for holes in the sandbox. It also keeps the list of
// fonts that matplotlib makes, so that no later interpreter has to.
func (p *Python) probe(ctx context.Context) (err error) {
	p.box.fonts = filepath.Join(p.dir, "fonts")
	if err := os.MkdirAll(p.box.fonts, 0o755); err != nil {
		return fmt.Errorf("make python's folder: %w", err)
	}
	f, err := openFolder(filepath.Join(p.dir, "probe"), p.box.give)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, erase(f.path)) }()
	i, err := p.box.start(ctx, f.work())
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil {
		return unstarted(err)
	}
	defer func() { err = errors.Join(err, i.end()) }()
	end := p.call(ctx, i, f, probeCode, p.o.waits.trial)
	output := strings.TrimSpace(i.outputNow())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case end.lost != "" || end.cut != "":
		return off("its sandbox did not stand the trial: %s%s", end.lost, end.cut)
	case end.answer.Failed:
		lines := strings.Split(strings.TrimSpace(end.answer.Error), "\n")
		return off("%s; %s", lines[len(lines)-1], install)
	case output != "fine":
		return off("its sandbox has a hole: %s", strings.ReplaceAll(output, "\n", "; "))
	}
	if why := p.watched(i, f); why != "" {
		return off("its sandbox did not stand the trial: %s", why)
	}
	if _, err := i.freeze(); err != nil {
		return err
	}
	return p.keepFonts(f)
}

// unstarted gives the remedy for a sandbox that does not start.
func unstarted(err error) error {
	var no *notStarted
	if !errors.As(err, &no) {
		return off("its sandbox does not start: %v", err)
	}
	return off("its sandbox does not start (%s); it needs bubblewrap 0.8 or later and the right to make user namespaces, "+
		"which many containers and some systems refuse", firstLine(no.output))
}

func (p *Python) keepFonts(f *folder) error {
	files, _, err := f.produced(nil)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasPrefix(file.Name, "fontlist-") {
			continue
		}
		if err := os.WriteFile(filepath.Join(p.box.fonts, file.Name), file.Data, 0o644); err != nil {
			return fmt.Errorf("keep list of fonts: %w", err)
		}
	}
	return nil
}
