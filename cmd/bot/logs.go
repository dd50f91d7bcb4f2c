package main

import (
	"log/slog"
)

// logger writes to standard error. quiet is the level where none was asked for.
func (c *commands) logger(env Env, quiet slog.Level) *slog.Logger {
	level := quiet
	if c.LogLevel != "" {
		_ = level.UnmarshalText([]byte(c.LogLevel)) // one of the enum
	}
	o := &slog.HandlerOptions{Level: level}
	if level > slog.LevelDebug {
		o.ReplaceAttr = discreet
	}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(env.Err, o))
	}
	return slog.New(slog.NewJSONHandler(env.Err, o))
}
