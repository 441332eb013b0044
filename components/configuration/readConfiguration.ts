import { fields, type Report } from "../../runtime/program";
import { checkPlatformOptions } from "../manifests/platform/checkOptions";
import { platformArgs } from "./args";
import { ConfigurationError } from "./configurationError";
import { parseSetting, SETTING_SHAPES, type Settings } from "./settings";

/**
 * Reads and checks a stack's whole configuration.
 *
 * @param project - the project's name, the prefix of its keys
 * @param values - all of the stack's configuration as Pulumi gives it (`pulumi.runtime.allConfig()`): text by key.
 *   Keys of others (`kubernetes:context`) are not ours to judge
 * @throws ConfigurationError with every problem: key, complaint, remedy
 */
export function readConfiguration(project: string, values: Readonly<Record<string, string>>): Settings {
  const prefix = `${project}:`;
  const own = Object.entries(values).filter(([key]) => key.startsWith(prefix));
  const settings = Object.fromEntries(
    own.map(([key, value]) => [key.slice(prefix.length), parseSetting(key.slice(prefix.length), value)]),
  );
  const problems: string[] = [];
  const report: Report = (key, complaint, remedy) => problems.push(`${prefix}${key} ${complaint}. ${remedy}`);
  fields(SETTING_SHAPES, "").check(settings, "", report);
  if (problems.length === 0) checkTogether(settings as unknown as Settings, report);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return settings as unknown as Settings;
}

/** What no key can tell alone. */
function checkTogether(settings: Settings, report: Report): void {
  if (settings.parts === "operators" && settings.platformStack === "") {
    report("platformStack", 'is "", and parts is "operators"', "Name the stack that has the platform.");
  }
  if (settings.parts !== "operators" && settings.platformStack !== "") {
    report(
      "platformStack",
      `is "${settings.platformStack}", and parts is "${settings.parts}"`,
      'Set parts to "operators", or remove platformStack.',
    );
  }
  if (settings.jetStreamVersion !== "" && settings.argoEvents !== "adopt") {
    report(
      "jetStreamVersion",
      `is "${settings.jetStreamVersion}", and argoEvents is "${settings.argoEvents}"`,
      'Set it to "": the controller of our own has one version.',
    );
  }
  for (const key of ["podMonitor", "alertRules", "dashboard"] as const) {
    if (settings.parts !== "operators" || !settings.monitoring[key]) continue;
    report(`monitoring.${key}`, 'is true, and parts is "operators"', "Set it in the platform's stack.");
  }
  for (const { key, complaint, remedy } of checkPlatformOptions(platformArgs(settings))) {
    report(key, complaint, remedy);
  }
  if (settings.eventBusStorage === "" && settings.eventBusStorageClass !== "") {
    report("eventBusStorageClass", "is given without eventBusStorage", "Give the volume's size as well.");
  }
}
