package command

import (
	"runtime"
	"runtime/debug"
)

// VersionCommand prints the version.
type VersionCommand struct{}

// Run prints what the build recorded.
func (VersionCommand) Run(env *Env, g *Globals) error {
	version, revision := "unknown", ""
	if build, ok := debug.ReadBuildInfo(); ok {
		version = build.Main.Version
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if g.JSON {
		return env.document(struct {
			Version  string `json:"version"`
			Revision string `json:"revision,omitempty"`
			Go       string `json:"go"`
		}{version, revision, runtime.Version()})
	}
	return env.print("%s", remarks("triad "+version, yesWord(revision != "", "revision "+revision), runtime.Version()))
}
