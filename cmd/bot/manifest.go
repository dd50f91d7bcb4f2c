package main

import (
	"context"
	"fmt"

	"nod/cmd/bot/config"
)

type manifestCommand struct {
	Platform string `arg:"" enum:"slack,discord" help:"slack or discord."`
	Config   string `required:"" help:"The configuration file; it needs no secrets." type:"path" placeholder:"FILE"`
}

// Run prints the app's description for the platform.
func (c manifestCommand) Run(_ context.Context, env Env) error {
	cfg, err := config.Load(c.Config, config.LoadOptions{Lenient: true, Getenv: env.Getenv})
	if err != nil {
		return usage(err)
	}
	text, err := manifests[c.Platform](cfg)
	if err != nil {
		return usage(err)
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", text)
	return err
}

// manifests holds how each platform is told. A new adapter adds itself here.
var manifests = map[string]func(*config.Config) ([]byte, error){
	"slack":   slackManifest,
	"discord": discordManifest,
}
