{{/* The arguments of `kidp serve`, as a YAML list. */}}
{{- define "kidp.serveArguments" -}}
- serve
- --service=kidp
- --owner-cluster-role=kidp
{{- if eq .Values.profile "crd-gate" }}
- --crd-gate-only
{{- else if not (include "kidp.dispatch" .) }}
- --no-dispatch
{{- end }}
{{- if ne .Values.environment "production" }}
- --environment={{ .Values.environment }}
{{- end }}
{{- with .Values.webhook }}
{{- if ne .failurePolicy "Fail" }}
- --failure-policy={{ .failurePolicy }}
{{- end }}
{{- range $webhook, $policy := .failurePolicies }}
- --failure-policy-for={{ $webhook }}={{ $policy }}
{{- end }}
{{- if ne (int .drainSeconds) 5 }}
- --drain-seconds={{ .drainSeconds }}
{{- end }}
{{- if .clientCA.configMap }}
- --client-ca=/etc/kidp/client-ca/{{ .clientCA.key }}
{{- range .clientCA.names }}
- --client-name={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if ne .Values.certificates.source "own" }}
- --webhook-tls=/etc/kidp/webhook-tls
{{- end }}
{{- with .Values.crdGate }}
{{- if .allowUnused }}
- --crd-allow-unused
{{- end }}
{{- if ne .incomplete "deny" }}
- --crd-incomplete={{ .incomplete }}
{{- end }}
{{- if ne (int .history) 10 }}
- --crd-history={{ .history }}
{{- end }}
{{- end }}
{{- if include "kidp.policies" . }}
{{- range .Values.excludedNamespaces }}
- --exclude-namespace={{ . }}
{{- end }}
{{- if ne (join "," .Values.exceptionNamespaces.names) "policy-exceptions" }}
{{- range .Values.exceptionNamespaces.names }}
- --exception-namespace={{ . }}
{{- end }}
{{- end }}
{{- if ne .Values.reports.api "openreports.io" }}
- --report-api={{ .Values.reports.api }}
{{- end }}
{{- end }}
{{- if ne .Values.breakGlass.group "kidp:break-glass" }}
- --break-glass-group={{ .Values.breakGlass.group }}
{{- end }}
{{- if include "kidp.dispatch" . }}
- --status-url={{ include "kidp.statusUrl" . }}
{{- if .Values.statusApi.tlsSecret }}
- --status-tls=/etc/kidp/status-tls
{{- end }}
{{- if ne .Values.statusApi.issuer "kidp" }}
- --broker-issuer={{ .Values.statusApi.issuer }}
{{- end }}
{{- range .Values.reservedNamespaces }}
- --reserved-namespace={{ . }}
{{- end }}
{{- with .Values.kafka.bootstrapServers }}
- --kafka={{ join "," . }}
{{- if $.Values.kafka.tlsSecret }}
- --kafka-tls=/etc/kidp/kafka-tls
{{- end }}
{{- end }}
{{- end }}
{{- if include "kidp.rollouts" . }}
{{- with .Values.rollouts }}
{{- if .clusterKeys.command }}
- --cluster-keys-command={{ .clusterKeys.command }}
{{- else }}
- --cluster-keys=/etc/kidp/cluster-keys/{{ .clusterKeys.file }}
{{- end }}
{{- if .charts }}
- --charts=/etc/kidp/charts
{{- end }}
{{- if .settings }}
- --rollout-settings=/etc/kidp/rollout-settings/settings.yaml
{{- end }}
{{- if .smtp.server }}
- --smtp={{ .smtp.server }}
- --smtp-from={{ .smtp.from }}
{{- if .smtp.implicitTls }}
- --smtp-tls
{{- end }}
{{- if .smtp.credentialsSecret }}
- --smtp-credentials=/etc/kidp/smtp-credentials
{{- end }}
{{- if .smtp.caConfigMap.name }}
- --smtp-ca=/etc/kidp/smtp-ca/{{ .smtp.caConfigMap.key }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "kidp.rest" . }}
{{- with .Values.rest }}
- --rest-port=8445
{{- if .tlsSecret }}
- --rest-tls=/etc/kidp/rest-tls
{{- end }}
{{- with .issuer }}
- --rest-issuer={{ . }}
{{- end }}
{{- with .jwksUrl }}
- --rest-jwks={{ . }}
{{- end }}
{{- if .caConfigMap.name }}
- --rest-ca=/etc/kidp/rest-ca/{{ .caConfigMap.key }}
{{- end }}
{{- if ne .audience "kidp" }}
- --rest-audience={{ .audience }}
{{- end }}
{{- if ne .userClaim "sub" }}
- --rest-user-claim={{ .userClaim }}
{{- end }}
{{- with .userPrefix }}
- --rest-user-prefix={{ . }}
{{- end }}
{{- if ne .groupsClaim "groups" }}
- --rest-groups-claim={{ .groupsClaim }}
{{- end }}
{{- range $group, $role := .groups }}
- {{ printf "--rest-group=%s=%s" $group $role | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.otlp.endpoint }}
- --otlp-endpoint={{ . }}
{{- end }}
{{- range .Values.allowedAddresses }}
- {{ printf "--allow-address=%s" . | quote }}
{{- end }}
{{- if ne .Values.log.level "info" }}
- --log-level={{ .Values.log.level }}
{{- end }}
{{- end }}

{{/* The files that arguments name: a YAML list of volumes, each with its name, mountPath and source. */}}
{{- define "kidp.files" -}}
{{- with .Values.webhook.clientCA.configMap }}
- {name: client-ca, mountPath: /etc/kidp/client-ca, source: {configMap: {name: {{ . }}}}}
{{- end }}
{{- if eq .Values.certificates.source "certManager" }}
- {name: webhook-tls, mountPath: /etc/kidp/webhook-tls, source: {secret: {secretName: kidp-webhook-tls}}}
{{- else if eq .Values.certificates.source "secret" }}
- {name: webhook-tls, mountPath: /etc/kidp/webhook-tls, source: {secret: {secretName: {{ .Values.certificates.secretName }}}}}
{{- end }}
{{- if include "kidp.dispatch" . }}
{{- with .Values.statusApi.tlsSecret }}
- {name: status-tls, mountPath: /etc/kidp/status-tls, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- if .Values.kafka.bootstrapServers }}
{{- with .Values.kafka.tlsSecret }}
- {name: kafka-tls, mountPath: /etc/kidp/kafka-tls, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- end }}
{{- end }}
{{- if include "kidp.rollouts" . }}
{{- with .Values.rollouts }}
{{- with .clusterKeys.secretProviderClass }}
- {name: cluster-keys, mountPath: /etc/kidp/cluster-keys, source: {csi: {driver: secrets-store.csi.k8s.io, readOnly: true, volumeAttributes: {secretProviderClass: {{ . }}}}}}
{{- end }}
{{- with .clusterKeys.volume }}
- {name: cluster-keys, mountPath: /etc/kidp/cluster-keys, source: {{ toJson . }}}
{{- end }}
{{- with .charts }}
- {name: charts, mountPath: /etc/kidp/charts, source: {{ toJson . }}}
{{- end }}
{{- if .settings }}
- {name: rollout-settings, mountPath: /etc/kidp/rollout-settings, source: {configMap: {name: kidp-rollout-settings}}}
{{- end }}
{{- if .smtp.server }}
{{- with .smtp.credentialsSecret }}
- {name: smtp-credentials, mountPath: /etc/kidp/smtp-credentials, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with .smtp.caConfigMap.name }}
- {name: smtp-ca, mountPath: /etc/kidp/smtp-ca, source: {configMap: {name: {{ . }}}}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "kidp.rest" . }}
{{- with .Values.rest.tlsSecret }}
- {name: rest-tls, mountPath: /etc/kidp/rest-tls, source: {secret: {secretName: {{ . }}}}}
{{- end }}
{{- with .Values.rest.caConfigMap.name }}
- {name: rest-ca, mountPath: /etc/kidp/rest-ca, source: {configMap: {name: {{ . }}}}}
{{- end }}
{{- end }}
{{- with .Values.otlp.caConfigMap.name }}
- {name: otlp-ca, mountPath: /etc/kidp/otlp-ca, source: {configMap: {name: {{ . }}}}}
{{- end }}
{{- end }}
