package main

import (
	"context"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// kubernetes is the environment of admission policies in Kubernetes 1.36.
type kubernetes struct{ env *cel.Env }

func newKubernetes() kubernetes {
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("object", cel.DynType)},
	})
	must(err)
	return kubernetes{set.StoredExpressionsEnv()}
}

func (k kubernetes) compile(expression string) (func(map[string]any) error, error) {
	ast, issues := k.env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := k.env.Program(ast, cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	return func(object map[string]any) error {
		_, _, err := program.ContextEval(ctx, map[string]any{"object": object})
		return err
	}, nil
}
