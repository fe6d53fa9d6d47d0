package emf

import (
	"io"
	"log/slog"
	"strings"
)

// NewLogger returns a logger that writes Lambda's JSON log format: one object
// per line, with timestamp, level and message. level is Lambda's own word for
// the least that is written (AWS_LAMBDA_LOG_LEVEL): TRACE, DEBUG, INFO, WARN,
// ERROR or FATAL, in any case. Anything else means INFO.
func NewLogger(out io.Writer, level string) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: levelOf(level), ReplaceAttr: lambdaKeys}))
}

func levelOf(word string) slog.Level {
	switch strings.ToUpper(word) {
	case "TRACE", "DEBUG":
		return slog.LevelDebug
	case "WARN":
		return slog.LevelWarn
	case "ERROR", "FATAL":
		return slog.LevelError
	}
	return slog.LevelInfo
}

// lambdaKeys gives slog's own keys the names by which Lambda reads them.
func lambdaKeys(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		a.Key = "timestamp"
	case slog.MessageKey:
		a.Key = "message"
	}
	return a
}
